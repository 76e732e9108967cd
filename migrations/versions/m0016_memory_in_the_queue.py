"""The index of the queue also has the memory of the runs, because a small worker passes over many large runs."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

INDEX = "ix_runs_state_queue_turn"
COLUMNS = ("state", "queue", "needs_fused", sa.text("priority DESC"), "turn", "id")


def upgrade() -> None:
    op.drop_index(INDEX, "runs")
    op.create_index(INDEX, "runs", [*COLUMNS, "memory_bytes"])


def downgrade() -> None:
    op.drop_index(INDEX, "runs")
    op.create_index(INDEX, "runs", [*COLUMNS])
