"""Workers say whether they have fused kernels, runs whether they need them, and entries which kernel their runs had.

Older workers have no fused kernels, and older runs need none. The queue's index has the column: without it, a worker
without kernels would read all runs that need kernels to find a run that does not. Columns are added in place: SQLite
would otherwise make the table anew, and measurements refer to it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


OF_ITS_RUNS = """
    SELECT CASE
        WHEN count(DISTINCT runs.kernel) > 1 OR max(runs.kernel) LIKE '% %' THEN 'mixed' ELSE max(runs.kernel)
    END
    FROM runs JOIN experiments ON experiments.id = runs.experiment_id
    WHERE experiments.fingerprint = entries.fingerprint AND runs.state = 'succeeded'
"""


def upgrade() -> None:
    op.add_column("workers", sa.Column("fused", sa.Boolean(), nullable=True, server_default=sa.false()))
    op.add_column("runs", sa.Column("needs_fused", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.drop_index("ix_runs_state_queue_turn", table_name="runs")
    op.create_index(
        "ix_runs_state_queue_turn", "runs", ["state", "queue", "needs_fused", sa.text("priority DESC"), "turn", "id"]
    )
    op.add_column("entries", sa.Column("kernel", sa.String(length=64), nullable=True))
    op.execute(f"UPDATE entries SET kernel = ({OF_ITS_RUNS})")


def downgrade() -> None:
    op.drop_column("entries", "kernel")
    op.drop_index("ix_runs_state_queue_turn", table_name="runs")
    op.create_index("ix_runs_state_queue_turn", "runs", ["state", "queue", sa.text("priority DESC"), "turn", "id"])
    op.drop_column("runs", "needs_fused")
    op.drop_column("workers", "fused")
