"""Columns get plain names, and a kernel's name may have 64 characters.

Columns are changed in place: SQLite would otherwise make the table anew, and measurements refer to it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

RENAMED = {"rung_at": "notified_at", "began_attempt": "started_attempt"}


def upgrade() -> None:
    for old, new in RENAMED.items():
        _rename(old, new)
    _resize_kernel(64)


def downgrade() -> None:
    _resize_kernel(16)
    for old, new in RENAMED.items():
        _rename(new, old)


def _rename(old: str, new: str) -> None:
    op.execute(f"ALTER TABLE runs RENAME COLUMN {old} TO {new}")


def _resize_kernel(length: int) -> None:
    """Names that are longer are cut."""
    op.execute(f"UPDATE runs SET kernel = substr(kernel, 1, {length}) WHERE length(kernel) > {length}")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE runs ALTER COLUMN kernel TYPE VARCHAR({length})")
        return
    op.add_column("runs", sa.Column("resized", sa.String(length=length), nullable=True))
    op.execute("UPDATE runs SET resized = kernel WHERE kernel IS NOT NULL")
    op.drop_column("runs", "kernel")
    _rename("resized", "kernel")
