"""Entries hold the runs that count and the statistics of docs/results/reliability.md, and are pooled again.

Older runs do not say when they were last below a target that they missed. Their last evaluation counts as that time.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
RUNS = sa.table(
    "runs",
    sa.column("id", sa.String),
    sa.column("step", sa.Integer),
    sa.column("result", JSON),
    sa.column("state", sa.String),
)
INDEX = "ix_entries_task_profile_problem"


def upgrade() -> None:
    op.drop_table("entries")
    _create_entries(
        sa.Column("conflicting_seeds", JSON, nullable=False),
        sa.Column("pooled", JSON, nullable=False),
    )
    op.create_index(f"{INDEX}_n_runs", "entries", ["task", "profile", "problem", "n_runs"])
    op.drop_column("runs", "steps_to_target")
    op.drop_column("runs", "seconds_to_target")
    _say_when_targets_were_missed()


def downgrade() -> None:
    """Entries come back as runs end."""
    op.add_column("runs", sa.Column("seconds_to_target", sa.Float(), nullable=True))
    op.add_column("runs", sa.Column("steps_to_target", sa.Integer(), nullable=True))
    op.drop_table("entries")
    _create_entries(
        sa.Column("kernel", sa.String(length=64), nullable=True),
        sa.Column("values", JSON, nullable=False),
        sa.Column("n_seeds", sa.Integer(), nullable=False),
        sa.Column("n_diverged", sa.Integer(), nullable=False),
        sa.Column("mean", sa.Float(), nullable=True),
        sa.Column("std", sa.Float(), nullable=True),
        sa.Column("ci_low", sa.Float(), nullable=True),
        sa.Column("ci_high", sa.Float(), nullable=True),
        sa.Column("steps_median", sa.Float(), nullable=True),
        sa.Column("steps_reached", sa.Integer(), nullable=False),
        sa.Column("seconds_median", sa.Float(), nullable=True),
        sa.Column("seconds_reached", sa.Integer(), nullable=False),
    )
    op.create_index(INDEX, "entries", ["task", "profile", "problem"])


def _create_entries(*columns: sa.Column[Any]) -> None:
    op.create_table(
        "entries",
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("setting", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        sa.Column("problem", sa.String(length=16), nullable=False),
        sa.Column("options", JSON, nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("experiments", JSON, nullable=False),
        sa.Column("n_runs", sa.Integer(), nullable=False),
        sa.Column("results", JSON, nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_entries")),
    )


def _say_when_targets_were_missed() -> None:
    connection = op.get_bind()
    runs = sa.select(RUNS.c.id, RUNS.c.step, RUNS.c.result).where(RUNS.c.state == "succeeded")
    for id, step, result in connection.execute(runs).all():
        if result and "metric" in result:
            missed = result["steps_to_target"] is None
            below = {
                "steps_below_target": float(step) if missed else None,
                "seconds_below_target": result["train_seconds"] if missed else None,
            }
            connection.execute(sa.update(RUNS).where(RUNS.c.id == id).values(result={**result, **below}))
