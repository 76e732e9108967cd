"""Two kinds of session, one clock, and times that keep their zone."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import func, select, text, update

from service.db import KEEPALIVE, Database, epoch_now
from service.experiments.tables import Experiment, Run
from tests.service.sample_runs import submitted


def test_a_transaction_that_raises_leaves_nothing(db: Database) -> None:
    experiment = submitted(db)

    def break_off() -> None:
        with db.transaction() as session:
            session.execute(update(Run).values(priority=9))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    with db.snapshot() as session:
        assert session.get_one(Run, experiment.runs[0].id).priority == 5


def test_writers_at_the_same_time_lose_no_update(db: Database) -> None:
    run_id = submitted(db).runs[0].id

    def add(_: int) -> None:
        with db.transaction() as session:
            run = session.scalars(select(Run).where(Run.id == run_id).with_for_update()).one()
            run.times_lost += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(80)))
    with db.snapshot() as session:
        assert session.get_one(Run, run_id).times_lost == 80


def test_writers_in_several_processes_lose_no_update(db: Database) -> None:
    """Each writer has its own pool of connections, as a process has, and reads before it writes."""
    run_id = submitted(db).runs[0].id

    def add(_: int) -> None:
        own = Database(db.url)
        for _ in range(15):
            with own.transaction() as session:
                run = session.scalars(select(Run).where(Run.id == run_id).with_for_update()).one()
                run.times_lost += 1
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    with db.snapshot() as session:
        assert session.get_one(Run, run_id).times_lost == 60


def test_readers_do_not_wait_for_writers(db: Database) -> None:
    submitted(db)
    with db.transaction() as session:
        session.execute(update(Run).values(priority=9))
        with db.snapshot() as reader:  # a wait here would end only by a timeout: the writer commits later
            assert reader.scalars(select(Run.priority)).one() == 5


def test_the_databases_clock_counts_seconds_since_1970(db: Database) -> None:
    with db.snapshot() as session:
        first = session.scalars(select(epoch_now())).one()
    assert first == pytest.approx(time.time(), abs=5)
    deadline = time.monotonic() + 5
    with db.transaction() as session:
        then = session.scalars(select(epoch_now())).one()
        while (now := session.scalars(select(epoch_now())).one()) == then and time.monotonic() < deadline:
            pass
    assert now > then, "it goes on within a transaction"


def test_times_come_back_in_utc_whatever_zone_they_were_given_in(db: Database) -> None:
    experiment = submitted(db)
    eastern = datetime(2026, 3, 1, 23, 30, 15, 123456, tzinfo=timezone(timedelta(hours=-5)))
    with db.transaction() as session:
        session.execute(update(Experiment).values(created_at=eastern))
    with db.snapshot() as session:
        stored = session.get_one(Experiment, experiment.id).created_at
        assert session.scalar(select(func.count()).where(Experiment.created_at == eastern)) == 1
    assert stored == eastern
    assert stored.tzinfo == UTC


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_has_wal_full_synchronization_and_foreign_keys(db: Database) -> None:
    with db.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_postgresql_looks_for_clients_that_are_gone_as_they_look_for_it(db: Database) -> None:
    """Locks of a client that vanished amid a statement would stay for two hours by PostgreSQL's own settings."""
    with db.snapshot() as session:
        found = {name: session.scalar(text(f"SHOW tcp_keepalives_{name}")) for name in KEEPALIVE}
    assert {name: int(value) for name, value in found.items()} == KEEPALIVE == {"idle": 5, "interval": 2, "count": 3}


def test_json_comes_back_as_it_was_whatever_text_it_holds(db: Database) -> None:
    run_id = submitted(db).runs[0].id
    history = [
        {"reason": "no file b\udcff.txt", "seconds": 0.1 + 0.2, "at": 10**20, "none": None, "\U0001f600": ["é", True]}
    ]
    if not db.is_sqlite:  # PostgreSQL has no text with half of a surrogate pair
        history[0]["reason"] = "no file b.txt"
    with db.transaction() as session:
        session.execute(update(Run).where(Run.id == run_id).values(history=history))
    with db.snapshot() as session:
        assert session.get_one(Run, run_id).history == history
