"""An application that all tests of a module share, for tests that store nothing or do not mind stored data."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.servers import postgres_database


@pytest.fixture(scope="module")
def shared_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client like ``client``, but one for all tests of a module, and on SQLite: most of these tests need no database.

    A test whose answer depends on the database is parametrized with both databases, by ``indirect``.
    """
    data = tmp_path_factory.mktemp("shared")
    if getattr(request, "param", "sqlite") == "sqlite":
        file = shutil.copy(request.getfixturevalue("sqlite_template"), data)
        database: AbstractContextManager[str] = nullcontext(f"sqlite:///{file}")
    else:
        server, template = map(request.getfixturevalue, ("postgres_url", "postgres_template"))
        database = postgres_database(server, template)
    with database as url:
        settings = Settings(
            data_dir=data,
            datasets_dir=data / "datasets",
            database_url=url,
            broker_url="filesystem://localhost",
            artifacts_url=str(data / "artifacts"),
            allowed_hosts="testserver",
        )
        with TestClient(create_app(settings, require_keys=False)) as client:
            yield client
