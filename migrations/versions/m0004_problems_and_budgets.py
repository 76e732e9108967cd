"""Boards rank one problem within one budget; entries keep every run's result; specs have a version.

Stored specs get version 0; ``service.upgrade`` brings them to today's, with their fingerprints, problems and budgets,
and pools the entries again, whose table is made anew here.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
RUNS = sa.table(
    "runs",
    sa.column("id", sa.String),
    sa.column("value", sa.Float),
    sa.column("result", JSON),
    sa.column("state", sa.String),
)


def upgrade() -> None:
    op.add_column("experiments", sa.Column("problem", sa.String(length=16), nullable=True))
    op.add_column("experiments", sa.Column("budget", sa.BigInteger(), nullable=True))
    op.add_column("experiments", sa.Column("spec_version", sa.Integer(), nullable=False, server_default="0"))
    op.drop_table("entries")
    _create_entries(
        sa.Column("problem", sa.String(length=16), nullable=False),
        sa.Column("options", JSON, nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column("results", JSON, nullable=False),
        sa.Column("values", JSON, nullable=False),
    )
    op.create_index("ix_entries_task_profile_problem", "entries", ["task", "profile", "problem"])
    _name_the_values_of_results()


def downgrade() -> None:
    """Entries come back as runs end."""
    op.drop_table("entries")
    _create_entries()
    op.create_index("ix_entries_task_profile", "entries", ["task", "profile"])
    for column in ("spec_version", "budget", "problem"):
        op.drop_column("experiments", column)


def _create_entries(*columns: sa.Column[Any]) -> None:
    op.create_table(
        "entries",
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("setting", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        *columns,
        sa.Column("changes", JSON, nullable=False),
        sa.Column("experiments", JSON, nullable=False),
        sa.Column("n_runs", sa.Integer(), nullable=False),
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
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_entries")),
    )


def _name_the_values_of_results() -> None:
    """Give older results the value of their one metric by its name. New results have the values of all metrics, and the
    value of guessing, which older results do not know."""
    connection = op.get_bind()
    results = sa.select(RUNS.c.id, RUNS.c.result).where(RUNS.c.state == "succeeded")
    for id, result in connection.execute(results).all():
        if result and "metric" in result and "values" not in result:
            values = {} if result["value"] is None else {result["metric"]: result["value"]}
            connection.execute(
                sa.update(RUNS).where(RUNS.c.id == id).values(result={**result, "values": values, "no_skill": None})
            )
