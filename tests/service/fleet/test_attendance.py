"""Workers come, live, train and go; the silent ones are forgotten."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import CursorResult, update
from starlette.testclient import TestClient

from service.db import Database, epoch_now
from service.fleet import attendance
from service.fleet.attendance import Badge
from service.fleet.tables import Worker
from tests.service.given import claimed, finished, submitted

HEARTBEAT = 5.0


def badge(id: str, queues: tuple[str, ...] = ("auto", "cpu")) -> Badge:
    return Badge(id=id, host="host-1", pid=42, device="cpu", queues=queues)


def beat(db: Database, *badges: Badge) -> None:
    with db.transaction() as session:
        for b in badges:
            attendance.beat(session, b)


def silent_for(db: Database, worker_id: str, seconds: float) -> None:
    with db.transaction() as session:
        query = update(Worker).where(Worker.id == worker_id).values(heartbeat_at=epoch_now() - seconds)
        found = session.execute(query)
        assert isinstance(found, CursorResult)
        assert found.rowcount == 1


def live(db: Database) -> list[str]:
    with db.snapshot() as session:
        return [worker.id for worker, _ in attendance.live(session, HEARTBEAT)]


def idle(db: Database) -> dict[str, int]:
    with db.snapshot() as session:
        return attendance.idle(session, HEARTBEAT)


def test_a_worker_lives_from_its_first_heartbeat_until_it_leaves(db: Database) -> None:
    assert live(db) == []
    beat(db, badge("wrk_1"), badge("wrk_2"))
    beat(db, badge("wrk_1"))
    assert live(db) == ["wrk_1", "wrk_2"]
    with db.transaction() as session:
        attendance.leave(session, "wrk_1")
    assert live(db) == ["wrk_2"]


def test_a_worker_that_missed_its_heartbeats_is_not_live_and_then_forgotten(db: Database) -> None:
    beat(db, badge("wrk_1"), badge("wrk_2"), badge("wrk_3"))
    silent_for(db, "wrk_1", 3.2 * HEARTBEAT)
    silent_for(db, "wrk_2", 2.2 * HEARTBEAT)
    assert live(db) == ["wrk_2", "wrk_3"]
    with db.transaction() as session:
        attendance.sweep(session, HEARTBEAT)
    with db.snapshot() as session:
        assert session.get(Worker, "wrk_1") is None
        assert session.get(Worker, "wrk_2") is not None
    beat(db, badge("wrk_1"))
    assert live(db) == ["wrk_1", "wrk_2", "wrk_3"], "it was only slow, and is back"


def test_a_heartbeat_ends_a_silence(db: Database) -> None:
    beat(db, badge("wrk_1"))
    silent_for(db, "wrk_1", 100)
    assert live(db) == []
    beat(db, badge("wrk_1"))
    assert live(db) == ["wrk_1"]


def test_idle_workers_are_counted_for_each_queue_they_listen_to(db: Database) -> None:
    beat(db, badge("wrk_1"), badge("wrk_2", ("auto", "cuda")), badge("wrk_3"), badge("wrk_4"))
    silent_for(db, "wrk_4", 100)
    assert idle(db) == {"auto": 3, "cpu": 2, "cuda": 1}
    submitted(db)
    claim = claimed(db, worker_id="wrk_1")
    assert idle(db) == {"auto": 2, "cpu": 1, "cuda": 1}
    finished(db, claim.lease)
    assert idle(db) == {"auto": 3, "cpu": 2, "cuda": 1}


def test_a_worker_that_was_forgotten_while_it_trained_is_busy_when_it_comes_back(db: Database) -> None:
    beat(db, badge("wrk_1"))
    submitted(db)
    claimed(db, worker_id="wrk_1")
    silent_for(db, "wrk_1", 100)
    with db.transaction() as session:
        attendance.sweep(session, HEARTBEAT)
    beat(db, badge("wrk_1"))
    assert idle(db) == {}


def test_live_workers_are_shown_with_what_they_train(client: TestClient, db: Database) -> None:
    assert client.get("/v1/workers").json() == {"items": [], "next_cursor": None}
    beat(db, badge("wrk_1"), badge("wrk_2"))
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
        "run_id": run_id,
    }
    now = datetime.now(UTC).timestamp()
    assert heard.timestamp() == pytest.approx(now, abs=30)
    assert began.timestamp() == pytest.approx(now, abs=30)
