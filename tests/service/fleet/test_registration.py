"""Workers are registered, live, train and are removed, by themselves or because they are silent."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import CursorResult, update
from starlette.testclient import TestClient

from service.db import Database, epoch_now
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.fleet.tables import Worker
from service.workload import queries as workload
from tests.service.sample_runs import claimed, finished, submitted

HEARTBEAT = 5.0


def identity(id: str, queues: tuple[str, ...] = ("auto", "cpu"), fused: bool | None = None) -> WorkerIdentity:
    return WorkerIdentity(id=id, host="host-1", pid=42, device="cpu", queues=queues, fused=fused)


def heartbeat(db: Database, *workers: WorkerIdentity) -> None:
    with db.transaction() as session:
        for worker in workers:
            registration.heartbeat(session, worker)


def silent_for(db: Database, worker_id: str, seconds: float) -> None:
    with db.transaction() as session:
        query = update(Worker).where(Worker.id == worker_id).values(heartbeat_at=epoch_now() - seconds)
        found = session.execute(query)
        assert isinstance(found, CursorResult)
        assert found.rowcount == 1


def live(db: Database) -> list[str]:
    with db.snapshot() as session:
        return [worker.id for worker, _ in workload.read_workers_with_runs(session, HEARTBEAT)]


def idle(db: Database) -> dict[str, int]:
    with db.snapshot() as session:
        return workload.count_idle_workers(session, HEARTBEAT)


def test_a_worker_lives_from_its_first_heartbeat_until_it_leaves(db: Database) -> None:
    assert live(db) == []
    heartbeat(db, identity("wrk_1"), identity("wrk_2"))
    heartbeat(db, identity("wrk_1"))
    assert live(db) == ["wrk_1", "wrk_2"]
    with db.transaction() as session:
        registration.remove(session, "wrk_1")
    assert live(db) == ["wrk_2"]


def test_a_worker_that_missed_its_heartbeats_is_not_live_and_then_forgotten(db: Database) -> None:
    heartbeat(db, identity("wrk_1"), identity("wrk_2"), identity("wrk_3"))
    silent_for(db, "wrk_1", 3.2 * HEARTBEAT)
    silent_for(db, "wrk_2", 2.2 * HEARTBEAT)
    assert live(db) == ["wrk_2", "wrk_3"]
    with db.transaction() as session:
        registration.remove_silent(session, HEARTBEAT)
    with db.snapshot() as session:
        assert session.get(Worker, "wrk_1") is None
        assert session.get(Worker, "wrk_2") is not None
    heartbeat(db, identity("wrk_1"))
    assert live(db) == ["wrk_1", "wrk_2", "wrk_3"], "it was only slow, and is back"


def test_a_heartbeat_ends_a_silence(db: Database) -> None:
    heartbeat(db, identity("wrk_1"))
    silent_for(db, "wrk_1", 100)
    assert live(db) == []
    heartbeat(db, identity("wrk_1"))
    assert live(db) == ["wrk_1"]


def test_idle_workers_are_counted_for_each_queue_they_listen_to(db: Database) -> None:
    heartbeat(db, identity("wrk_1"), identity("wrk_2", ("auto", "cuda")), identity("wrk_3"), identity("wrk_4"))
    silent_for(db, "wrk_4", 100)
    assert idle(db) == {"auto": 3, "cpu": 2, "cuda": 1}
    submitted(db)
    claim = claimed(db, worker_id="wrk_1")
    assert idle(db) == {"auto": 2, "cpu": 1, "cuda": 1}
    finished(db, claim.lease)
    assert idle(db) == {"auto": 3, "cpu": 2, "cuda": 1}


def test_a_worker_that_was_forgotten_while_it_trained_is_busy_when_it_comes_back(db: Database) -> None:
    heartbeat(db, identity("wrk_1"))
    submitted(db)
    claimed(db, worker_id="wrk_1")
    silent_for(db, "wrk_1", 100)
    with db.transaction() as session:
        registration.remove_silent(session, HEARTBEAT)
    heartbeat(db, identity("wrk_1"))
    assert idle(db) == {}


def test_live_workers_are_shown_with_what_they_train(client: TestClient, db: Database) -> None:
    assert client.get("/v1/workers").json() == {"items": [], "next_cursor": None}
    heartbeat(db, identity("wrk_1"), identity("wrk_2"))
    silent_for(db, "wrk_2", 100)
    submitted(db)
    run_id = claimed(db, worker_id="wrk_1").lease.run_id
    (worker,) = client.get("/v1/workers").json()["items"]
    heard = datetime.fromisoformat(worker.pop("heartbeat_at"))
    began = datetime.fromisoformat(worker.pop("started_at"))
    assert worker == {
        "id": "wrk_1",
        "host": "host-1",
        "pid": 42,
        "device": "cpu",
        "queues": ["auto", "cpu"],
        "fused": None,
        "run_id": run_id,
    }
    now = datetime.now(UTC).timestamp()
    assert heard.timestamp() == pytest.approx(now, abs=30)
    assert began.timestamp() == pytest.approx(now, abs=30)


def test_a_worker_says_whether_it_has_fused_kernels_once_it_knows(client: TestClient, db: Database) -> None:
    def shown() -> dict[str, bool | None]:
        return {worker["id"]: worker["fused"] for worker in client.get("/v1/workers").json()["items"]}

    heartbeat(db, identity("wrk_1"), identity("wrk_2"), identity("wrk_3", fused=True))
    assert shown() == {"wrk_1": None, "wrk_2": None, "wrk_3": True}
    heartbeat(db, identity("wrk_1", fused=True), identity("wrk_2", fused=False))
    assert shown() == {"wrk_1": True, "wrk_2": False, "wrk_3": True}


def test_a_worker_of_an_older_version_has_no_fused_kernels(client: TestClient, db: Database) -> None:
    heartbeat(db, identity("wrk_1", fused=True))
    known = "host, pid, device, queues, started_at, heartbeat_at"  # the columns that the older version knows
    with db.engine.begin() as connection:
        connection.exec_driver_sql(f"INSERT INTO workers (id, {known}) SELECT 'wrk_0', {known} FROM workers")
    shown = {worker["id"]: worker["fused"] for worker in client.get("/v1/workers").json()["items"]}
    assert shown == {"wrk_0": False, "wrk_1": True}


def test_idle_workers_with_fused_kernels_are_counted_for_runs_that_need_them(db: Database) -> None:
    heartbeat(db, identity("wrk_1", fused=True), identity("wrk_2", fused=False), identity("wrk_3", fused=True))
    assert idle(db) == {"auto": 3, "cpu": 3, "fused": 2}
    submitted(db)
    claimed(db, worker_id="wrk_1")
    assert idle(db) == {"auto": 2, "cpu": 2, "fused": 1}


def test_a_worker_listens_to_messages_for_fused_kernels_only_if_it_has_them() -> None:
    assert identity("wrk_1", fused=True).notified_in == ("auto", "cpu", "fused")
    assert identity("wrk_1", fused=False).notified_in == identity("wrk_1").notified_in == ("auto", "cpu")
