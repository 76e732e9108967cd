"""Backlog of the queues, and the expected wait."""

from typing import Any

from starlette.testclient import TestClient

from service.db import Database
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.workload.backlog import NEWEST
from tests.service.sample_runs import claimed, failed, finished, submitted


def queue(client: TestClient, device: str) -> Any:
    items = {item["device"]: item for item in client.get("/v1/queue").json()["items"]}
    assert set(items) == {"auto", "cpu", "cuda"}
    return items[device]


def join(db: Database, *workers: str, fused: bool = False) -> None:
    with db.transaction() as session:
        for name in workers:
            registration.heartbeat(session, WorkerIdentity(name, "host", 1, "cpu", ("auto", "cpu"), fused=fused))


def test_an_empty_queue_without_workers_promises_nothing(client: TestClient) -> None:
    assert queue(client, "cpu") == {
        "device": "cpu",
        "queued": 0,
        "running": 0,
        "oldest_seconds": None,
        "workers": 0,
        "expected_wait_seconds": None,
    }


def test_runs_and_workers_are_counted_by_device(client: TestClient, db: Database) -> None:
    submitted(db, seeds=range(3), device="cpu")
    submitted(db, device="cuda")
    claimed(db, worker_id="wrk_1")
    join(db, "wrk_1", "wrk_2")
    cpu, cuda = queue(client, "cpu"), queue(client, "cuda")
    assert (cpu["queued"], cpu["running"], cpu["workers"]) == (2, 1, 2)
    assert cpu["oldest_seconds"] > 0
    assert (cuda["queued"], cuda["workers"], cuda["expected_wait_seconds"]) == (1, 0, None)


def test_the_expected_wait_is_the_work_that_workers_have_before_them(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", "wrk_2")
    assert queue(client, "auto")["expected_wait_seconds"] == 0.0
    submitted(db)
    finished(db, claimed(db).lease, train_seconds=4.0)
    submitted(db, seeds=range(5))
    # five runs of 4 s for two workers: one is free for a sixth when four have ended, two at a time
    assert queue(client, "auto")["expected_wait_seconds"] == 8.0
    assert queue(client, "cpu")["expected_wait_seconds"] == 8.0


def test_ended_runs_are_not_counted(client: TestClient, db: Database) -> None:
    submitted(db, seeds=range(3), device="cpu")
    finished(db, claimed(db).lease)
    failed(db, claimed(db).lease)
    cpu = queue(client, "cpu")
    assert (cpu["queued"], cpu["running"]) == (1, 0)
    claimed(db)
    cpu = queue(client, "cpu")
    assert (cpu["queued"], cpu["running"], cpu["oldest_seconds"]) == (0, 1, None)


def test_runs_for_other_devices_do_not_add_to_the_wait(client: TestClient, db: Database) -> None:
    join(db, "wrk_1")
    for device, seconds in (("cuda", 100.0), ("cpu", 4.0)):
        submitted(db, device=device)
        finished(db, claimed(db).lease, train_seconds=seconds)
    submitted(db, seeds=range(5), device="cuda")
    assert queue(client, "cpu")["expected_wait_seconds"] == 0.0
    submitted(db, device="cpu")
    assert queue(client, "cpu")["expected_wait_seconds"] == 4.0, "of one run, by the one worker"


def test_runs_for_kernels_that_no_worker_has_do_not_add_to_the_wait(client: TestClient, db: Database) -> None:
    join(db, "wrk_1")
    submitted(db)
    finished(db, claimed(db).lease, train_seconds=4.0)
    submitted(db, seeds=range(3), training={"kernel": "fused"})
    auto = queue(client, "auto")
    assert (auto["queued"], auto["expected_wait_seconds"]) == (3, 0.0)
    join(db, "wrk_2", fused=True)
    assert queue(client, "auto")["expected_wait_seconds"] == 4.0, "of the second of three, by one of two workers"


def test_the_expected_duration_comes_from_the_runs_that_ended_last(client: TestClient, db: Database) -> None:
    submitted(db, seeds=range(NEWEST + 1))
    for seconds in (100.0, *NEWEST * (4.0,)):
        finished(db, claimed(db).lease, train_seconds=seconds)
    submitted(db)
    join(db, "wrk_1")  # only now: without heartbeats during these runs it would not be live
    assert queue(client, "cpu")["expected_wait_seconds"] == 4.0
