"""Migrations that change what entries are pooled from delete the old entries."""

from typing import Any

import sqlalchemy as sa

from service.db import Database
from service.processes.migrate import migrate

DELETE_ENTRIES = {"0004": "0003", "0007": "0006", "0009": "0008", "0013": "0012", "0014": "0013"}


def test_each_of_these_migrations_deletes_the_entries_before_it(database_url: str) -> None:
    db = Database(database_url)
    for revision, before in DELETE_ENTRIES.items():
        migrate(db, before)
        _insert_entry(db)
        assert _count_entries(db) == 1
        migrate(db, revision)
        assert _count_entries(db) == 0, revision
    db.close()


def _insert_entry(db: Database) -> None:
    """Insert a row with an empty value in each column that must have a value."""
    with db.engine.begin() as connection:
        entries = sa.Table("entries", sa.MetaData(), autoload_with=connection)
        needed = [column for column in entries.columns if not column.nullable and column.server_default is None]
        connection.execute(sa.insert(entries).values({column.name: _empty(column.type) for column in needed}))


def _empty(kind: sa.types.TypeEngine[Any]) -> Any:
    return {} if isinstance(kind, sa.JSON) else kind.python_type()


def _count_entries(db: Database) -> int:
    with db.engine.connect() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM entries").scalar_one())
