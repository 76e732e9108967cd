"""Results that were measured elsewhere."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TABLE = "submitted_results"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        sa.Column("problem", sa.String(length=16), nullable=False),
        sa.Column("options", JSON, nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("spec_version", sa.Integer(), nullable=False),
        sa.Column("spec", JSON, nullable=False),
        sa.Column("values", JSON, nullable=False),
        sa.Column("provenance", JSON, nullable=False),
        sa.Column("idempotency_key", sa.String(length=255), nullable=True),
        sa.Column("request_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submitted_results")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_submitted_results_idempotency_key")),
    )
    op.create_index(f"ix_{TABLE}_fingerprint", TABLE, ["fingerprint"])
    op.create_index(f"ix_{TABLE}_task_profile_problem", TABLE, ["task", "profile", "problem"])


def downgrade() -> None:
    op.drop_table(TABLE)
