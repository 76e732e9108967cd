"""A spec that asks for fused kernels by name is trained only by workers that have them."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from normcore.spec import resolve
from service.db import Database
from service.experiments import api, lifecycle, submission
from service.experiments.tables import Experiment
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.fleet.tables import Worker
from service.queue import Notification
from tests.service.experiments.lifecycle.verbs import cancel, lost, released, retry
from tests.service.sample_runs import ALL_QUEUES, failed, run_of, submitted, written

FUSED: dict[str, Any] = {"training": {"kernel": "fused"}}


def join(db: Database, id: str, fused: bool | None, device: str = "cpu") -> None:
    queues = ("auto", device)
    with db.transaction() as session:
        registration.heartbeat(session, WorkerIdentity(id, "host", 1, device, queues, fused))


def silence(db: Database, id: str) -> None:
    with db.transaction() as session:
        worker = session.get_one(Worker, id)
        worker.heartbeat_at -= 1000


def claim(db: Database, *, fused: bool, queues: Sequence[str] = ALL_QUEUES) -> str | None:
    with db.transaction() as session:
        got = lifecycle.claim(session, queues=queues, worker_id="wrk_1", lease_seconds=60, fused=fused)
        return got.lease.run_id if got else None


def submit(client: TestClient, *, dry_run: bool = False, **parts: Any) -> Any:
    answer = client.post("/v1/experiments", params={"dry_run": dry_run}, json=written(**{**FUSED, **parts}))
    return answer.json()["errors"] if answer.status_code == 422 else answer.status_code


@pytest.mark.parametrize(
    ("workers", "device", "accepted"),
    [
        *(([], device, False) for device in ALL_QUEUES),
        ([("cuda", True)], "cpu", False),
        ([("cuda", False)], "cpu", False),
        ([("cpu", False), ("cuda", True)], "cpu", False),
        ([("cpu", False), ("cuda", True)], "auto", True),
        ([("cpu", False), ("cuda", False)], "auto", False),
        ([("cpu", True)], "cpu", True),
        ([("cpu", False)], "cpu", False),
        ([("cpu", False)], "auto", False),
        ([("cpu", False)], "cuda", False),
        ([("cpu", False), ("cpu", True)], "auto", True),
        ([("cpu", False), ("cpu", False)], "auto", False),
        ([("cpu", None)], "cpu", True),  # a worker that is compiling may have some soon
        ([("cpu", False), ("cpu", None)], "auto", True),
        ([("cpu", True), ("cuda", False)], "cuda", False),
        ([("cpu", True), ("cuda", False)], "auto", True),
    ],
)
def test_a_spec_for_fused_kernels_is_refused_if_no_live_worker_can_train_it(
    client: TestClient, db: Database, workers: list[tuple[str, bool | None]], device: str, accepted: bool
) -> None:
    for k, (kind, fused) in enumerate(workers):
        join(db, f"wrk_{k}", fused, kind)
    whose = "" if device == "auto" else f" for {device}"
    if any(device in ("auto", kind) for kind, _ in workers):
        told = f"no live worker{whose} has fused kernels; install what a worker's log says is missing, or use auto"
    else:
        told = f"no live worker{whose}, so no fused kernels; start a worker first, or use auto"
    refused = [
        {
            "loc": ["training", "kernel"],
            "msg": told,
            "type": "kernel_unavailable",
        }
    ]
    assert submit(client, dry_run=True, device=device) == (200 if accepted else refused)
    assert submit(client, device=device) == (201 if accepted else refused)
    with db.snapshot() as session:
        assert session.scalar(select(func.count()).select_from(Experiment)) == int(accepted)
    for kernel in ("auto", "reference"):
        assert submit(client, device=device, training={"kernel": kernel}) == 201


def test_silent_workers_do_not_count_as_workers_with_fused_kernels(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", True)
    assert submit(client) == 201
    silence(db, "wrk_1")
    assert submit(client) != 201


def test_an_accepted_spec_for_fused_kernels_waits_for_a_worker_that_has_them(client: TestClient, db: Database) -> None:
    key = {"Idempotency-Key": "once"}
    join(db, "wrk_0", True)
    first = client.post("/v1/experiments", json=written(**FUSED), headers=key)
    assert first.status_code == 201
    silence(db, "wrk_0")
    join(db, "wrk_1", False)
    assert claim(db, fused=False) is None
    again = client.post("/v1/experiments", json=written(**FUSED), headers=key)
    assert (again.status_code, again.json()) == (200, first.json())
    assert claim(db, fused=True) == first.json()["runs"][0]["id"]


def test_a_request_that_comes_second_is_not_refused_if_the_workers_have_left_meanwhile(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second request has looked for an earlier experiment before the first request was stored."""
    join(db, "wrk_0", True)
    key = {"Idempotency-Key": "once"}
    first = client.post("/v1/experiments", json=written(**FUSED), headers=key)
    silence(db, "wrk_0")
    monkeypatch.setattr(api, "_find_earlier", lambda *_: None)
    again = client.post("/v1/experiments", json=written(**FUSED), headers=key)
    assert (again.status_code, again.json()) == (200, first.json())


def test_only_a_worker_with_fused_kernels_claims_runs_that_need_them(db: Database) -> None:
    needing, other = submitted(db, **FUSED), submitted(db, training={"kernel": "auto"})
    first, second = needing.runs[0].id, other.runs[0].id
    assert claim(db, fused=False) == second
    assert claim(db, fused=False) is None
    assert run_of(db, first).state == "queued"
    assert claim(db, fused=True) == first


def test_a_worker_with_fused_kernels_takes_all_runs_in_their_turn(db: Database) -> None:
    other, needing = submitted(db), submitted(db, **FUSED)
    assert [claim(db, fused=True) for _ in range(2)] == [other.runs[0].id, needing.runs[0].id]


def test_notifications_of_runs_for_fused_kernels_go_to_workers_that_have_them(db: Database) -> None:
    run_id, other = submitted(db, device="cpu", **FUSED).runs[0].id, submitted(db, device="cpu").runs[0].id
    told = Notification(run_id, "fused")

    def notified_again(**idle: int) -> list[Notification]:
        with db.transaction() as session:
            return lifecycle.notify_again(session, idle=idle, after_seconds=-1)

    assert notified_again(cpu=5) == [Notification(other, "cpu")]
    assert notified_again(fused=5) == [told]
    assert claim(db, fused=True) == run_id
    assert released(db, lifecycle.Lease(run_id, 1, 60)) == told
    assert claim(db, fused=True) == run_id
    lost(db, lifecycle.Lease(run_id, 2, 60))
    assert claim(db, fused=True) == run_id
    failed(db, lifecycle.Lease(run_id, 3, 60))
    with db.transaction() as session:
        assert lifecycle.retry(session, run_of(db, run_id).experiment_id) == [told]


def test_a_submission_for_fused_kernels_notifies_workers_that_have_them(client: TestClient, db: Database) -> None:
    sent: list[Notification] = []
    join(db, "wrk_1", True)
    client.app.state.notifier.notify = sent.extend  # type: ignore[attr-defined]
    assert submit(client, device="cpu") == 201
    assert submit(client, device="cpu", training={}) == 201
    assert [notification.queue for notification in sent] == ["fused", "cpu"]


@pytest.mark.parametrize("elsewhere", [[], ["cuda"], ["cpu"]], ids=["nobody", "another device", "busy"])
def test_runs_that_a_worker_cannot_take_do_not_disturb_the_turns_of_the_rest(
    db: Database, elsewhere: list[str]
) -> None:
    join(db, "wrk_1", False)
    for device in elsewhere:
        join(db, "wrk_2", True, device)
    needing = submitted(db, device="cpu", **FUSED)
    ahead = submitted(db, device="cpu", seeds=range(10))
    assert [claim(db, fused=False) for _ in range(5)] == [run.id for run in ahead.runs[:5]]
    newcomer = submitted(db, device="cpu")
    got = [claim(db, fused=False) for _ in range(2)]
    assert got == [ahead.runs[5].id, newcomer.runs[0].id], "behind the run that was next, and not before it"
    assert claim(db, fused=True) == needing.runs[0].id


@pytest.mark.parametrize("retried", [False, True])
def test_a_newcomer_for_fused_kernels_queues_behind_the_next_run_that_needs_them(db: Database, retried: bool) -> None:
    join(db, "wrk_1", False)
    join(db, "wrk_2", True)
    sweep = submitted(db, seeds=range(40), **FUSED)
    passed = submitted(db, seeds=range(40))
    assert [claim(db, fused=False) for _ in range(20)] == [run.id for run in passed.runs[:20]]
    newcomer = submitted(db, **FUSED)
    if retried:
        cancel(db, newcomer.id)
        retry(db, newcomer.id)
    assert [claim(db, fused=True) for _ in range(2)] == [sweep.runs[0].id, newcomer.runs[0].id]


def test_newcomers_queue_behind_all_waiting_runs_while_no_worker_is_live(db: Database) -> None:
    ahead = submitted(db, seeds=range(10), **FUSED)
    for _ in range(5):
        claim(db, fused=True)
    newcomer = submitted(db)
    assert [claim(db, fused=True) for _ in range(2)] == [ahead.runs[5].id, newcomer.runs[0].id]


@pytest.mark.parametrize(
    ("workers", "waiting", "kernel", "expected"),
    [
        ([("cpu", False)], [("cpu", "fused", 3)], "auto", 1),
        ([("cpu", True)], [("cpu", "fused", 3)], "auto", 2),
        ([("cpu", False), ("cuda", True)], [("cpu", "fused", 3)], "auto", 1),
        ([("cpu", False), ("cuda", True)], [("cpu", "fused", 3), ("cpu", "auto", 3), ("auto", "auto", 1)], "auto", 3),
        ([("cpu", False), ("cpu", True)], [("cpu", "fused", 3)], "auto", 1),
        ([("cpu", True)], [("cpu", "auto", 3), ("cpu", "fused", 3)], "fused", 3),
        ([("cpu", None)], [("cpu", "auto", 3), ("cpu", "fused", 3)], "fused", 3),  # used once it has compiled
        ([("cpu", None)], [("cpu", "fused", 3)], "auto", 1),
    ],
)
def test_the_place_in_the_queue_counts_only_runs_that_live_workers_take(
    client: TestClient,
    db: Database,
    workers: list[tuple[str, bool | None]],
    waiting: list[tuple[str, str, int]],
    kernel: str,
    expected: int,
) -> None:
    for k, (device, fused) in enumerate(workers):
        join(db, f"wrk_{k}", fused, device)
    for device, needed, runs in waiting:
        submitted(db, device=device, seeds=range(runs), training={"kernel": needed})
    planned = client.post("/v1/experiments?dry_run=true", json=written(device="cpu", training={"kernel": kernel}))
    assert planned.json()["queue_position"] == expected
    newcomer = submitted(db, device="cpu", training={"kernel": kernel})
    fused = kernel == "fused" or workers[0][1] is True
    got = [claim(db, fused=fused, queues=("auto", "cpu")) for _ in range(expected)]
    assert got[-1] == newcomer.runs[0].id


def test_a_run_that_fits_no_worker_with_fused_kernels_is_not_left_to_a_worker_without(db: Database) -> None:
    """Nobody would ever take it. The worker with fused kernels takes it, and the run fails with the reason."""
    for name, memory, fused in (("wrk_small", 10**9, True), ("wrk_large", 10**11, False)):
        identity = WorkerIdentity(name, "host", 1, "cpu", ("auto", "cpu"), memory=memory, fused=fused)
        with db.transaction() as session:
            registration.register(session, identity)
    spec = resolve(written(training={"kernel": "fused"}))
    with db.transaction() as session:
        submission.submit(session, spec, memory_bytes=10**10, request_digest="")
    with db.transaction() as session:
        taken = lifecycle.claim(session, queues=("auto", "cpu"), worker_id="wrk_small", lease_seconds=60, fused=True)
    assert taken is not None
