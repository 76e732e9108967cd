"""The database: the base class of all tables, the two kinds of session, and the clock that all processes share."""

import json
import math
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from pydantic_core import from_json
from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    Engine,
    Float,
    MetaData,
    String,
    Table,
    TypeDecorator,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.sql.functions import GenericFunction

from service.deadlines import Patience, TimedConnection
from service.errors import NotFound

SQLITE_BUSY_SECONDS = 30
CALL_SECONDS = 6.0  # one statement must be answered within this time
CONNECT_SECONDS = 5  # at most, to open a connection
KEEPALIVE = {"idle": 5, "interval": 2, "count": 3}  # seconds and probes, until a silent peer is known to be gone
UNHEARD_SECONDS = 15.0  # at most, until unacknowledged data breaks a connection (TCP_USER_TIMEOUT)
CLOSING_SECONDS = 2.0  # instead of CALL_SECONDS, once the process was told to stop
CACHES = "caches"  # key of the database's caches in the ``info`` of its snapshots, see ``sized_cache``
ONE_MOMENT: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
Json = JSON().with_variant(JSONB(), "postgresql")


class Base(DeclarativeBase):
    """Base class of all tables. Each table belongs to one room (package of the service), which alone writes it."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


Row = TypeVar("Row", bound=Base)


def rows_of(model: type[Base]) -> Table:
    """Core table of a model, for bulk statements that bypass the ORM (twice as fast)."""
    return cast(Table, model.__table__)


class UTCDateTime(TypeDecorator[datetime]):
    """Column type for times, in UTC on every database. SQLite by itself would drop the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class epoch_now(GenericFunction[float]):  # noqa: N801 - a SQL function
    """Seconds since 1970 by the database's clock, so that leases do not depend on the workers' clocks."""

    type = Float()
    inherit_cache = True


@compiles(epoch_now, "sqlite")
def _sqlite_now(element: epoch_now, compiler: Any, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(epoch_now, "postgresql")
def _postgresql_now(element: epoch_now, compiler: Any, **options: Any) -> str:
    return "extract(epoch from clock_timestamp())::double precision"


class no_index(GenericFunction[str]):  # noqa: N801 - a SQL function
    """Text of a column for which SQLite uses no index. SQLite keeps no statistics, so it would look for a rare value
    and for a value that nearly all rows have in the same way.
    """

    type = String()
    inherit_cache = True


@compiles(no_index)
def _plain(element: no_index, compiler: Any, **options: Any) -> str:
    return str(compiler.process(element.clauses, **options))


@compiles(no_index, "sqlite")
def _without_index(element: no_index, compiler: Any, **options: Any) -> str:
    return f"+{compiler.process(element.clauses, **options)}"


def utc_now() -> datetime:
    """Time by this process' clock, for columns that people read. Leases use ``epoch_now``, the database's clock."""
    return datetime.now(UTC)


def get_row(session: Session, model: type[Row], id: str, noun: str, **options: Any) -> Row:
    """Read the row with this id.

    Args:
        noun: word for the row in the error, such as "sweep".
        options: options of SQLAlchemy's ``Session.get``.

    Raises:
        NotFound: there is no such row.
    """
    found = session.get(model, id, **options)
    if found is None:
        raise NotFound(f"no {noun} {id!r}")
    return found


def one_at_a_time(session: Session, name: str) -> None:
    """Wait until no other transaction holds the lock ``name``, and hold this lock until the present transaction ends.
    SQLite needs no lock: only one transaction can write at a time.
    """
    if session.connection().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def one_line(error: SQLAlchemyError) -> str:
    """Text of a database error for a log: its class and the driver's message, without the statement and its values."""
    return f"{type(error).__name__}: {' '.join(str(getattr(error, 'orig', None) or error).split())}"


class Database:
    """Connection pool, with two ways to use it.

    ``transaction()`` is for writes: it commits when the block ends, and rolls back when the block raises.
    ``snapshot()`` is for reads: all reads of the block see the database as of one moment. On SQLite a writer takes the
    write lock at once, and the threads of one process queue for the lock in order instead of polling the file.

    Args:
        call_seconds: how long a statement waits for a server's answer before it raises ``OperationalError``. On SQLite,
            which has no server, this has no effect.
    """

    def __init__(self, url: str, *, call_seconds: float = CALL_SECONDS) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self._patience = Patience(call_seconds)
        self.engine = _sqlite_engine(url) if self.is_sqlite else _server_engine(url, self._patience)
        self._writing = self.engine.execution_options(normbench_writes=True)
        self._reading = self.engine if self.is_sqlite else self.engine.execution_options(**ONE_MOMENT)
        self._turn: AbstractContextManager[Any] = threading.Lock() if self.is_sqlite else nullcontext()
        self._caches: dict[str, Any] = {}

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        with self._turn, Session(self._writing, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        with Session(self._reading, expire_on_commit=False, info={CACHES: self._caches}) as session:
            yield session

    def hurry(self) -> None:
        """Shorten the time limit of all statements to ``CLOSING_SECONDS``, because the process must stop. This includes
        a statement under way.
        """
        self._patience.seconds = min(self._patience.seconds, CLOSING_SECONDS)

    def close(self) -> None:
        self.hurry()
        self.engine.dispose()


def _server_engine(url: str, patience: Patience) -> Engine:
    """Build the engine for a database server. Connections break soon when the server is gone, and every statement has a
    time limit.
    """
    seconds = patience.seconds
    engine = create_engine(
        url,
        json_deserializer=_from_json,
        pool_pre_ping=True,
        pool_size=10,
        max_overflow=30,
        pool_timeout=seconds,
        connect_args={
            "connect_timeout": max(2, min(math.ceil(seconds), CONNECT_SECONDS)),
            **{f"keepalives_{name}": value for name, value in KEEPALIVE.items()},
            "tcp_user_timeout": _milliseconds(min(seconds, UNHEARD_SECONDS)),
            # The server gives up a little before we do, so that its error says why and the connection stays usable. It
            # also ends a transaction whose client fell silent, which releases its locks. Between two messages of one
            # statement these two limits do not count, so the server must notice a client that is gone.
            "options": f"-c statement_timeout={_milliseconds(0.9 * seconds)}"
            f" -c idle_in_transaction_session_timeout={_milliseconds(2 * seconds)}"
            + "".join(f" -c tcp_keepalives_{name}={value}" for name, value in KEEPALIVE.items()),
        },
    )

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Dialect, record: Any, args: Any, options: Any) -> TimedConnection:
        connection = TimedConnection.connect(*args, **options)
        connection.patience = patience
        return connection

    return engine


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)


def _from_json(text: str | bytes) -> Any:
    """Parse a JSON column six times faster than ``json.loads``; boards of a thousand entries need this. If that fails,
    use ``json.loads``: only it accepts half of a surrogate pair, which the name of a file may contain.
    """
    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)


def _sqlite_engine(url: str) -> Engine:
    engine = create_engine(
        url,
        json_deserializer=_from_json,
        pool_size=10,
        max_overflow=30,
        connect_args={"timeout": SQLITE_BUSY_SECONDS},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin in the listener below
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # an accepted experiment survives a power cut
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get("normbench_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
