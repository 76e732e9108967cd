"""Entries tell the digest of each of their spec's own parts, so that a board can leave out entries of an older task,
model or optimizer.

Whoever migrates pools the entries in the same transaction. No run changes.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.execute("DELETE FROM entries")
    op.add_column("entries", sa.Column("parts", JSON, nullable=True))


def downgrade() -> None:
    op.drop_column("entries", "parts")
