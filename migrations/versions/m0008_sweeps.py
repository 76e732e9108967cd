"""Sweeps, their cells, and which experiments belong to them. Older experiments belong to no sweep."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ID = sa.String(length=32)


def upgrade() -> None:
    op.create_table(
        "sweeps",
        sa.Column("id", ID, nullable=False),
        sa.Column("posted", JSON, nullable=False),
        sa.Column("n_cells", sa.Integer(), nullable=False),
        sa.Column("n_runs", sa.Integer(), nullable=False),
        sa.Column("reused_runs", sa.Integer(), nullable=False),
        sa.Column("is_settled", sa.Boolean(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=255), nullable=True),
        sa.Column("request_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweeps")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_sweeps_idempotency_key")),
    )
    op.create_index(op.f("ix_sweeps_is_settled"), "sweeps", ["is_settled"])
    op.create_table(
        "sweep_cells",
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("values", JSON, nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("seeds", JSON, nullable=False),
        sa.Column("reused", JSON, nullable=False),
        sa.PrimaryKeyConstraint("sweep_id", "number", name=op.f("pk_sweep_cells")),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweeps.id"], name=op.f("fk_sweep_cells_sweep_id")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_sweep_cells_experiment_id")),
    )
    op.create_index(op.f("ix_sweep_cells_fingerprint"), "sweep_cells", ["fingerprint"])
    op.add_column("experiments", sa.Column("sweep_id", ID, nullable=True))
    op.create_index(op.f("ix_experiments_sweep_id"), "experiments", ["sweep_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_experiments_sweep_id"), "experiments")
    op.drop_column("experiments", "sweep_id")
    op.drop_table("sweep_cells")
    op.drop_table("sweeps")
