"""The migrations themselves, in one transaction."""

from contextlib import closing
from importlib.resources import files

from alembic import command
from alembic.config import Config

from service.db import Database
from service.upgrade import upgrade_specs

STATEMENT_SECONDS = 3600.0  # for one statement of a migration, such as to copy a large table


def move(db: Database, revision: str) -> None:
    """Run the migrations up or down to ``revision``; after the newest, upgrade stored specs.

    Raises:
        CommandError: the database is at a revision that this program does not know.
        SQLAlchemyError: the database does not answer, or refuses.
    """
    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
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
