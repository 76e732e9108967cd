"""Entries are pooled again: no seed counts as worse than a model that ignores its input, intervals stay within what a
metric can be, and entries say where some seeds did not take off.

Whoever migrates pools the entries in the same transaction. No run changes.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DELETE FROM entries")


def downgrade() -> None:
    """Entries are pooled again."""
    op.execute("DELETE FROM entries")
