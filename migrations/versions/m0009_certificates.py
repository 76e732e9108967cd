"""Runs say what their seconds were spent on and whether they were alone on their machine.

Older runs do not say so. Their seconds leave the boards. Entries are pooled again as the service starts.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("runs", sa.Column("timing", JSON, nullable=True))
    op.add_column("runs", sa.Column("machine", sa.String(), nullable=True))
    op.create_index("ix_runs_machine_id", "runs", ["machine", "id"])
    op.execute("DELETE FROM entries")


def downgrade() -> None:
    """Entries are pooled again."""
    op.drop_index("ix_runs_machine_id", table_name="runs")
    op.drop_column("runs", "machine")
    op.drop_column("runs", "timing")
    op.execute("DELETE FROM entries")
