"""Boards rank one problem within one budget; entries keep every run's result; specs have a version.

Stored specs are brought to this version, and their fingerprints, which leave out what is at its default, computed anew.
Entries are emptied: ``normbench migrate`` pools them again from the runs.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from normcore.problem import problem_of
from normcore.spec import TrainingSpec, parse

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
OLD_INDEX, NEW_INDEX = "ix_entries_task_profile", "ix_entries_task_profile_problem"
EXPERIMENTS = sa.table(
    "experiments",
    sa.column("id", sa.String),
    sa.column("spec", JSON),
    sa.column("fingerprint", sa.String),
    sa.column("setting", sa.String),
    sa.column("problem", sa.String),
    sa.column("budget", sa.BigInteger),
)
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
    op.drop_index(OLD_INDEX, table_name="entries")
    _make_entries_anew(
        sa.Column("problem", sa.String(length=16), nullable=False),
        sa.Column("options", JSON, nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column("results", JSON, nullable=False),
        sa.Column("values", JSON, nullable=False),
    )
    op.create_index(NEW_INDEX, "entries", ["task", "profile", "problem"])
    _bring_specs_up_to_date()
    _name_the_values_of_results()


def downgrade() -> None:
    op.drop_index(NEW_INDEX, table_name="entries")
    _make_entries_anew()
    op.create_index(OLD_INDEX, "entries", ["task", "profile"])
    op.drop_column("experiments", "budget")
    op.drop_column("experiments", "problem")


def _make_entries_anew(*new: sa.Column[Any]) -> None:
    """An empty table: its columns need no defaults."""
    op.drop_table("entries")
    op.create_table(
        "entries",
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("setting", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("experiments", JSON, nullable=False),
        *new,
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


def _bring_specs_up_to_date() -> None:
    """A spec that cannot be read, as of a plug-in that is not installed, stays what it is, and off the boards."""
    connection = op.get_bind()
    for id, stored in connection.execute(sa.select(EXPERIMENTS.c.id, EXPERIMENTS.c.spec)).all():
        try:
            values = _columns(stored)
        except (ValueError, KeyError):
            continue
        connection.execute(sa.update(EXPERIMENTS).where(EXPERIMENTS.c.id == id).values(values))


def _columns(stored: dict[str, Any]) -> dict[str, Any]:
    spec = parse(stored)
    columns = {
        "spec": spec.model_dump(mode="json"),
        "fingerprint": spec.fingerprint(),
        "setting": spec.fingerprint(without=("norm",)),
    }
    if isinstance(spec, TrainingSpec):
        columns |= {"problem": problem_of(spec.task).id, "budget": spec.budget}
    return columns


def _name_the_values_of_results() -> None:
    """A result of old has the value of one metric; now it has those of all, and what guessing gets, which is not known
    of it."""
    connection = op.get_bind()
    results = sa.select(RUNS.c.id, RUNS.c.result).where(RUNS.c.state == "succeeded")
    for id, result in connection.execute(results).all():
        if result and "metric" in result and "values" not in result:
            values = {} if result["value"] is None else {result["metric"]: result["value"]}
            connection.execute(
                sa.update(RUNS).where(RUNS.c.id == id).values(result={**result, "values": values, "no_skill": None})
            )
