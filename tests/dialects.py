"""Dialects of SQLAlchemy that compile each statement once for all databases of a kind. Every test has databases of its
own; to compile its statements anew was a third of the time of the service's tests.

An engine finds a compiled statement by its dialect, so all dialects of a class are equal here.
"""

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

compiled: dict[Any, Any] = {}


class CompilesOnce:
    """Dialect that is equal to each other dialect of its class, and hands all engines the same compiled statements."""

    def __hash__(self) -> int:
        return hash(type(self))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=compiled)


class PostgreSQL(CompilesOnce, PGDialect_psycopg):
    supports_statement_cache = True


class SQLite(CompilesOnce, SQLiteDialect_pysqlite):
    supports_statement_cache = True


def register() -> None:
    """Let all engines of this process have these dialects."""
    registry.register("postgresql.psycopg", __name__, PostgreSQL.__name__)
    registry.register("sqlite", __name__, SQLite.__name__)
