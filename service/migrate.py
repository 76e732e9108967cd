"""Bring the database up to date, one process at a time."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from alembic import command
from alembic.config import Config
from filelock import FileLock
from sqlalchemy import Connection, text

from service.db import Database

ADVISORY_LOCK = 0x6E6F726D  # "norm"; any number, the same in every process
STATEMENT_SECONDS = 3600.0


def migrate(db: Database, revision: str = "head") -> None:
    """Run the migrations up or down to ``revision``, whoever else tries at the same time.

    A statement, such as the wait for the others, may take up to ``STATEMENT_SECONDS``.
    """
    with closing(Database(db.url, call_seconds=STATEMENT_SECONDS)) as patient, _alone(patient) as connection:
        config = Config()
        config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
        config.attributes["connection"] = connection
        if revision == "base":
            command.downgrade(config, "base")
        else:
            command.upgrade(config, revision)


@contextmanager
def _alone(db: Database) -> Iterator[Connection]:
    """A connection that may write from its first statement on, under a lock that other processes wait for.

    On SQLite a transaction that first reads and then writes is refused, not kept waiting, when another one writes.
    """
    with _lock(db), db.transaction() as session:
        yield session.connection()


@contextmanager
def _lock(db: Database) -> Iterator[None]:
    if db.is_sqlite:
        path = Path(db.engine.url.database or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.migrate.lock"):
            yield
    else:
        with db.engine.connect() as holder:
            holder.execute(text("SELECT pg_advisory_lock(:key)"), {"key": ADVISORY_LOCK})
            try:
                yield
            finally:
                holder.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": ADVISORY_LOCK})
