"""Runs and workers tell the code of a spec's own parts; an entry pools the runs of one code and counts those of older
code.

The code of earlier runs is not known. They stay pooled together until a run tells its code.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("runs", sa.Column("code", sa.String(64), nullable=True))
    op.add_column("runs", sa.Column("code_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("entries", sa.Column("code", sa.String(64), nullable=True))
    op.add_column("entries", sa.Column("code_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("entries", sa.Column("n_older", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("workers", sa.Column("code", JSON, nullable=True))
    op.add_column("workers", sa.Column("code_at", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("workers", "code_at")
    op.drop_column("workers", "code")
    op.drop_column("entries", "n_older")
    op.drop_column("entries", "code_at")
    op.drop_column("entries", "code")
    op.drop_column("runs", "code_at")
    op.drop_column("runs", "code")
