"""Losses are noticed: silent workers, messages that never came, a database that was away."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from service.db import Database, epoch_now
from service.experiments import lifecycle
from service.experiments.tables import Experiment, Run
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.fleet.tables import Worker
from service.leaderboards.tables import Entry
from service.processes.migrate import migrate
from service.processes.scheduler import look, run_scheduler
from service.queue import Notification
from service.settings import Settings
from tests.processes import until
from tests.service.sample_runs import claimed, finished, run_of, submitted

PATIENCE = 10.0  # seconds


def idle_worker(db: Database) -> None:
    with db.transaction() as session:
        registration.heartbeat(session, WorkerIdentity("wrk_1", "host", 1, "cpu", ("auto", "cpu")))


def test_one_look_takes_back_lost_runs_notifies_again_and_removes_silent_workers(
    db: Database, settings: Settings
) -> None:
    lost, unheard = submitted(db, seeds=[0]), submitted(db, seeds=[1])
    claimed(db, lease_seconds=-1)
    idle_worker(db)
    with db.transaction() as session:
        registration.heartbeat(session, WorkerIdentity("wrk_silent", "host", 2, "cpu", ("auto",)))
        session.execute(update(Worker).where(Worker.id == "wrk_silent").values(heartbeat_at=epoch_now() - 1000))
        session.execute(update(Run).where(Run.id == unheard.runs[0].id).values(notified_at=epoch_now() - 1000))
    notifications = look(db, settings)
    assert sorted(notifications, key=lambda notification: notification.run_id) == [
        Notification(lost.runs[0].id, "auto"),
        Notification(unheard.runs[0].id, "auto"),
    ]
    with db.snapshot() as session:
        assert session.get(Worker, "wrk_silent") is None
    assert look(db, settings) == []


def test_a_scheduler_that_does_not_trust_the_leases_takes_nothing_back(db: Database, settings: Settings) -> None:
    submitted(db)
    lease = claimed(db, lease_seconds=-1).lease
    assert look(db, settings, take_back=False) == []
    assert run_of(db, lease.run_id).state == "running"


def test_a_run_is_notified_of_once_its_pause_is_over(db: Database, settings: Settings) -> None:
    submitted(db)
    idle_worker(db)
    lease = claimed(db).lease
    with db.transaction() as session:
        session.execute(update(Run).values(times_deferred=5))  # the sixth pause outlasts this test, the first may not
        lifecycle.defer(session, lease, "disk full")
    assert look(db, settings) == []
    with db.transaction() as session:
        session.execute(update(Run).values(not_before=epoch_now()))
    assert look(db, settings) == [Notification(lease.run_id, "auto")]


def test_a_run_may_be_lost_as_often_as_the_settings_say(db: Database, settings: Settings) -> None:
    once = settings.model_copy(update={"max_attempts": 1})
    submitted(db)
    lease = claimed(db, lease_seconds=-1).lease
    assert look(db, once) == []
    assert run_of(db, lease.run_id).state == "failed"


def test_leases_get_time_for_renewal_after_the_database_was_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The tables are created only while the scheduler runs; every look of the scheduler before that fails."""
    settings = Settings(
        data_dir=tmp_path, broker_url="filesystem://localhost", scheduler_seconds=0.02, lease_seconds=1.5
    )
    db = Database(f"sqlite:///{tmp_path / 'normbench.db'}")
    stop = threading.Event()
    thread = threading.Thread(target=run_scheduler, args=(db, settings, stop))
    thread.start()
    try:
        until(lambda: "the database does not answer" in caplog.text, PATIENCE, lambda: caplog.text)
        back = time.monotonic()
        migrate(db)
        submitted(db)
        lease = claimed(db, lease_seconds=-1).lease
        while run_of(db, lease.run_id).state == "running":
            assert time.monotonic() - back < PATIENCE
            time.sleep(0.02)
        assert time.monotonic() - back > settings.lease_seconds - 0.1
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join(PATIENCE)
        db.close()
    assert not thread.is_alive()


def test_an_entry_that_its_worker_could_not_pool_is_pooled(db: Database, settings: Settings) -> None:
    """A worker that started before the options were edited cannot read the spec of a run that it has trained."""
    experiment = submitted(db, seeds=[0])

    def write(norm: Mapping[str, Any]) -> None:
        with db.transaction() as session:
            stored = session.get_one(Experiment, experiment.id)
            stored.spec = {**stored.spec, "norm": norm}

    write({**experiment.spec["norm"], "new_option": 1})
    finished(db, claimed(db).lease, value=0.5)
    write(experiment.spec["norm"])
    stop = threading.Event()
    often = settings.model_copy(update={"scheduler_seconds": 0.02})
    thread = threading.Thread(target=run_scheduler, args=(db, often, stop))
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not (pooled := n_runs_of_entries(db)):
            assert time.monotonic() < deadline
            assert not stop.wait(0.02)
    finally:
        stop.set()
        thread.join()
    assert pooled == [1]


def n_runs_of_entries(db: Database) -> list[int]:
    with db.snapshot() as session:
        return list(session.scalars(select(Entry.n_runs)))
