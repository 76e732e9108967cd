"""Fixtures of the service's and the workers' tests: real databases, a real broker, the application.

A test that asks for ``database_url``, or for anything made from it, runs once on SQLite and once on PostgreSQL;
some modules run on SQLite alone (``tests.databases``).
"""

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import hypothesis
import pytest
from sqlalchemy import make_url
from starlette.testclient import TestClient

from service.app import create_app
from service.db import Database
from service.processes.migrate import migrate
from service.settings import Settings
from tests import dialects
from tests.compilers import quick_compiler
from tests.databases import choose_database
from tests.servers import NotInstalled, postgres_database, private_postgres, private_rabbitmq, private_redis
from tests.slow import is_slow, is_slow_module, start_early
from workers import fork_server

gc.set_threshold(50_000)  # as in the API; imports and tests make little garbage
os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported: tests of its kernels run without a GPU

BRIEF_PROBES = str(Path(__file__).parent / "brief_probes")
if BRIEF_PROBES not in os.environ.get("PYTHONPATH", "").split(os.pathsep):  # test processes inherit it
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [BRIEF_PROBES, os.environ.get("PYTHONPATH")]))

httpx._config.DEFAULT_TIMEOUT_CONFIG.read = 60.0  # a busy machine takes longer than the 5 seconds of httpx

hypothesis.settings.register_profile("untimed", deadline=None)  # machines are shared; benchmarks measure speed
hypothesis.settings.load_profile("untimed")

dialects.register()


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in background jobs of a shell; tests send Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    fork_server.context.set_forkserver_preload(list(fork_server.WARM))  # of trainings in tests


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the modules that ``make fast`` leaves out."""
    return True if config.option.markexpr == "not slow" and is_slow_module(collection_path) else None


@pytest.hookimpl(tryfirst=True)  # pytest's own hooks read the marks
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    choose_database(metafunc)


def pytest_collection_finish() -> None:
    gc.freeze()  # the modules and the tests, which no search for garbage needs to visit


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: start_early(item.path))  # the sort is stable: tests of a module stay together


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """URL of the PostgreSQL server ``NORMBENCH_TEST_DATABASE_URL``, whose user may create databases, or of a private
    server."""
    given = os.environ.get("NORMBENCH_TEST_DATABASE_URL")
    if given:
        yield make_url(given).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
        return
    try:
        with private_postgres() as url:
            yield url
    except NotInstalled as missing:
        pytest.skip(f"needs a server: PostgreSQL ({missing} is not installed, NORMBENCH_TEST_DATABASE_URL is not set)")


@pytest.fixture(scope="session")
def redis_url(worker_id: str) -> Iterator[str]:
    """URL of the Redis server ``NORMBENCH_TEST_BROKER_URL``, with a database for each test process, or of a private
    server."""
    given = os.environ.get("NORMBENCH_TEST_BROKER_URL")
    if given:
        yield urlsplit(given)._replace(path=f"/{worker_id.removeprefix('gw').replace('master', '0')}").geturl()
        return
    try:
        with private_redis() as url:
            yield url
    except NotInstalled as missing:
        pytest.skip(f"needs a server: Redis ({missing} is not installed, NORMBENCH_TEST_BROKER_URL is not set)")


@pytest.fixture(scope="session")
def rabbitmq_url() -> Iterator[str]:
    """URL of a private RabbitMQ server."""
    try:
        with private_rabbitmq() as url:
            yield url
    except NotInstalled as missing:
        pytest.skip(f"needs a server: RabbitMQ ({missing} is not installed)")


@pytest.fixture(scope="session")
def quickly(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> str:
    """Line of a shell script that compiles kernels without optimization, each once for all test processes."""
    own = tmp_path_factory.getbasetemp()
    return f'exec {quick_compiler((own if worker_id == "master" else own.parent) / "compiled")} "$@"'


@pytest.fixture(scope="session")
def postgres_template(postgres_url: str) -> Iterator[str]:
    """PostgreSQL database with the service's tables. Copying it is faster than migrating for every test."""
    with postgres_database(postgres_url) as url:
        db = Database(url)
        migrate(db)
        db.close()
        yield str(make_url(url).database)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SQLite database with the service's tables. Copying it is 50 times faster than migrating for every test."""
    path = tmp_path_factory.mktemp("template") / "normbench.db"
    db = Database(f"sqlite:///{path}")
    migrate(db)
    db.close()
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of an empty database for one test. On PostgreSQL it has the tables if the test also uses ``db``."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'normbench.db'}"
        return
    template = request.getfixturevalue("postgres_template") if "db" in request.fixturenames else "template1"
    with postgres_database(request.getfixturevalue("postgres_url"), template) as url:
        yield url


@pytest.fixture
def fresh_postgres_url(postgres_url: str) -> Iterator[str]:
    """URL of an empty PostgreSQL database for one test."""
    with postgres_database(postgres_url) as url:
        yield url


@pytest.fixture
def db(request: pytest.FixtureRequest, database_url: str) -> Iterator[Database]:
    """Database with the service's tables, all empty."""
    db = Database(database_url)
    if db.is_sqlite:
        shutil.copy(request.getfixturevalue("sqlite_template"), str(make_url(database_url).database))
    yield db
    db.close()


@pytest.fixture
def settings(db: Database, tmp_path: Path) -> Settings:
    """Settings with all files below ``tmp_path`` and the database ``db``, independent of environment variables."""
    data = tmp_path / "data"
    return Settings(
        data_dir=data,
        datasets_dir=data / "datasets",
        database_url=db.url,
        broker_url="filesystem://localhost",
        artifacts_url=str(data / "artifacts"),
        allowed_hosts="testserver",  # the host of starlette's test client
    )


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """Client of an application that requires no keys."""
    with TestClient(create_app(settings, require_keys=False)) as client:
        yield client
