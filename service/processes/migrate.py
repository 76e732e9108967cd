"""Migration of the database to the present version, by one process at a time."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from filelock import FileLock
from sqlalchemy import func, select

from service.db import Database
from service.upgrade import has_old_specs, upgrade_specs

ADVISORY_LOCK = 0x6E6F726D  # "norm"; any number, the same in every process
STATEMENT_SECONDS = 3600.0  # for one statement of a migration, such as to copy a large table
WAIT_SECONDS = 0.2  # between two tries to get the lock of another process


def migrate(db: Database, revision: str = "head") -> None:
    """Run the migrations up or down to ``revision``, and upgrade stored specs. Only one process does this at a time.

    Unless there is something to migrate, every call has the time-outs of ``db``, so that a silent database is noticed.
    One statement of a migration may take up to ``STATEMENT_SECONDS``.

    Raises:
        CommandError: the database is at a revision that this program does not know.
        SQLAlchemyError: the database does not answer, or refuses.
    """
    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    with _lock(db):
        if revision != "head" or _revision(db) != ScriptDirectory.from_config(config).get_current_head():
            _move(db, config, revision)
            if db.is_sqlite:  # its connections remember the old tables
                db.engine.dispose()
        if revision == "head":
            _upgrade_specs(db)


def _upgrade_specs(db: Database) -> None:
    with db.snapshot() as session:
        has_old = has_old_specs(session)
    if has_old:
        with db.transaction() as session:
            upgrade_specs(session)


def _move(db: Database, config: Config, revision: str) -> None:
    with (
        closing(Database(db.url, call_seconds=STATEMENT_SECONDS)) as patient,
        patient.transaction() as session,  # on SQLite, a transaction that reads before it writes may be refused
    ):
        config.attributes["connection"] = session.connection()
        if revision == "base":
            command.downgrade(config, "base")
        else:
            command.upgrade(config, revision)
        if revision == "head":  # in the same transaction, so that no process ever sees empty boards
            upgrade_specs(session)


def _revision(db: Database) -> str | None:
    with db.snapshot() as session:
        return MigrationContext.configure(session.connection()).get_current_revision()


@contextmanager
def _lock(db: Database) -> Iterator[None]:
    """Hold the lock of migrations, so that one process works at a time and others wait."""
    if db.is_sqlite:
        file = Path(db.engine.url.database or "")
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{file}.migrate.lock"):
            yield
        return
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as holder:
        while not holder.scalar(select(func.pg_try_advisory_lock(ADVISORY_LOCK))):
            time.sleep(WAIT_SECONDS)
        try:
            yield
        finally:
            holder.execute(select(func.pg_advisory_unlock(ADVISORY_LOCK)))
