"""Runs say which phase of an evaluation is going on. Older runs do not say it."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("phase", sa.String(length=32), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "phase")
