"""Experiments take turns, deferred runs pause, and a run knows which attempt last trained.

Columns are added in place: SQLite would otherwise make the table anew, and measurements refer to it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("turn", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("began_attempt", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("times_deferred", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("not_before", sa.Float(), nullable=True))
    op.drop_index("ix_runs_state_priority_id", table_name="runs")
    op.create_index("ix_runs_state_queue_turn", "runs", ["state", "queue", sa.text("priority DESC"), "turn", "id"])


def downgrade() -> None:
    op.drop_index("ix_runs_state_queue_turn", table_name="runs")
    op.create_index("ix_runs_state_priority_id", "runs", ["state", sa.text("priority DESC"), "id"])
    for column in ("not_before", "times_deferred", "began_attempt", "turn"):
        op.drop_column("runs", column)
