"""Migration of the database to the present version, by one process at a time.

Every process migrates when it starts, and there is seldom anything to do. What a migration needs is therefore imported
only when there is one: it takes a third of a second.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from filelock import FileLock
from sqlalchemy import column, func, inspect, select, table

from service.db import Database
from service.old_specs import has_old_specs

ADVISORY_LOCK = 0x6E6F726D  # "norm"; any number, the same in every process
WAIT_SECONDS = 0.2  # between two tries to get the lock of another process
VERSION = table("alembic_version", column("version_num"))


class UnknownRevision(Exception):
    """The database is at a revision that this program does not know."""


def migrate(db: Database, revision: str = "head") -> None:
    """Run the migrations up or down to ``revision``, and upgrade stored specs. Only one process does this at a time.

    Unless there is something to migrate, every call has the time-outs of ``db``, so that a silent database is noticed.
    One statement of a migration may take up to an hour.

    Raises:
        UnknownRevision: the database is at a revision that this program does not know.
        SQLAlchemyError: the database does not answer, or refuses.
    """
    with _lock(db):
        if revision != "head" or _revision(db) != newest_revision():
            _move(db, revision)
            if db.is_sqlite:  # its connections remember the old tables
                db.engine.dispose()
        if revision == "head":
            _upgrade_specs(db)


def newest_revision() -> str:
    """Revision of the newest migration, which stands in the name of its file."""
    names = [file.name for file in files("migrations.versions").iterdir() if file.name.endswith(".py")]
    return max(name.partition("_")[0].removeprefix("m") for name in names if name.startswith("m"))


def _upgrade_specs(db: Database) -> None:
    with db.snapshot() as session:
        has_old = has_old_specs(session)
    if has_old:
        from service.upgrade import upgrade_specs

        with db.transaction() as session:
            upgrade_specs(session)


def _move(db: Database, revision: str) -> None:
    from alembic.util import CommandError

    from service.processes.run_migrations import move

    try:
        move(db, revision)
    except CommandError as error:
        raise UnknownRevision(str(error)) from error


def _revision(db: Database) -> str | None:
    with db.snapshot() as session:
        if not inspect(session.connection()).has_table(VERSION.name):
            return None
        revision: str | None = session.scalar(select(VERSION.c.version_num))
        return revision


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
