"""A spec that fits into no worker's memory is refused before it is stored; the error names the deciding size."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, update
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from normcore.footprint import footprint
from normcore.spec import ExperimentSpec, resolve
from normcore.spec.models.model import Cost, Model
from normcore.spec.tasks.pixels import PermutedDigits
from service import wording
from service.db import Database
from service.errors import Invalid
from service.experiments import api, lifecycle, validation
from service.experiments.memory import NO_MACHINE_HAS, check
from service.experiments.tables import Run
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from tests.service.sample_runs import submitted, submitted_analysis, written

GB = 10**9
LARGE: dict[str, Any] = {"model": {"hidden_size": 4096}}


def join(db: Database, id: str, memory: int | None, device: str = "cpu") -> None:
    identity = WorkerIdentity(id, "host", 1, device, ("auto", device), memory=memory)
    with db.transaction() as session:
        registration.heartbeat(session, identity)


def needs(kind: str = "cpu", **parts: Any) -> int:
    found = footprint(resolve(written(**parts)))
    assert found is not None
    return found.on(kind)


def refusals(client: TestClient, *, dry_run: bool = True, **parts: Any) -> Any:
    answer = client.post("/v1/experiments", params={"dry_run": dry_run}, json=written(**parts))
    return answer.json()["errors"] if answer.status_code == 422 else []


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_refused_size_is_named_with_its_need_the_limit_and_a_size_that_fits(
    client: TestClient, db: Database, dry_run: bool
) -> None:
    join(db, "wrk_1", 1 * GB)
    join(db, "wrk_2", 2 * GB)
    needed, too_much = needs(**LARGE), needs(model={"hidden_size": 5200})
    assert needed < 2 * GB < too_much
    most = next(size for size in range(5200, 0, -1) if needs(model={"hidden_size": size}) <= 2 * GB)
    assert refusals(client, dry_run=dry_run, **LARGE) == []
    assert refusals(client, dry_run=dry_run, model={"hidden_size": 5200}) == [
        {
            "loc": ["model", "hidden_size"],
            "msg": f"a run needs at least {wording.size(too_much)} of memory, and the largest live worker gives it"
            f" 2.0 GB; use {most:,} or less",
            "type": "memory",
        }
    ]


@pytest.mark.parametrize(
    ("workers", "device", "is_refused"),
    [
        ([], "auto", False),
        ([("cpu", 1 * GB)], "auto", True),
        ([("cpu", 1 * GB)], "cuda", False),
        ([("cpu", 1 * GB), ("cuda", 80 * GB)], "auto", False),
        ([("cpu", 1 * GB), ("cuda", 80 * GB)], "cpu", True),
        ([("cpu", 1 * GB), ("cpu", None)], "cpu", False),
    ],
    ids=[
        "nobody lives",
        "too small",
        "of another device",
        "one is large",
        "the large one takes others",
        "one is silent",
    ],
)
def test_the_memory_of_workers_that_can_take_the_run_decides(
    client: TestClient, db: Database, workers: list[tuple[str, int | None]], device: str, is_refused: bool
) -> None:
    for number, (kind, memory) in enumerate(workers):
        join(db, f"wrk_{number}", memory, kind)
    assert bool(refusals(client, device=device, **LARGE)) is is_refused


def test_an_impossible_size_is_refused_while_no_worker_reports_its_memory(client: TestClient) -> None:
    impossible = {"hidden_size": 65536, "num_layers": 64}
    assert needs(model=impossible) > NO_MACHINE_HAS
    (refused,) = refusals(client, model=impossible)
    assert refused["loc"] == ["model", "hidden_size"]
    assert "no live worker says how much it has, so the limit is 17,592 GB" in refused["msg"]


def test_plug_ins_and_memory_are_looked_at_before_the_transaction(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During the transaction nobody else can write to SQLite. A plug-in's options may be compared by a fresh process,
    and its model may take long to count.
    """
    writing, counted_while = threading.Event(), list[bool]()

    def compare_plug_ins(spec: ExperimentSpec) -> None:
        counted_while.append(writing.is_set())

    def least_cost(task: PermutedDigits, model: Model) -> Cost | None:
        counted_while.append(writing.is_set())
        return None

    @contextmanager
    def transaction(db: Database) -> Iterator[Session]:
        with original(db) as session:
            writing.set()
            yield session
            writing.clear()

    original = Database.transaction
    monkeypatch.setattr(Database, "transaction", transaction)
    monkeypatch.setattr(PermutedDigits, "least_cost", least_cost)
    monkeypatch.setattr(validation.loaded_options(), "compare_plug_ins", compare_plug_ins)
    assert client.post("/v1/experiments", json=written()).status_code == 201
    assert counted_while == [False, False]


def test_a_run_that_needs_fused_kernels_is_compared_with_workers_that_have_them(
    client: TestClient, db: Database
) -> None:
    """The larger worker has no fused kernels, so it cannot take the run."""
    for name, memory, fused in (("wrk_1", 1 * GB, True), ("wrk_2", 64 * GB, False)):
        with db.transaction() as session:
            identity = WorkerIdentity(name, "host", 1, "cpu", ("auto", "cpu"), memory=memory, fused=fused)
            registration.heartbeat(session, identity)
    (refused,) = refusals(client, training={"kernel": "fused"}, **LARGE)
    assert "the largest live worker gives it 1.0 GB" in refused["msg"]
    assert not refusals(client, **LARGE)
    (refused,) = refusals(client, dry_run=False, training={"kernel": "fused"}, **LARGE)
    assert refused["type"] == "memory"


def test_a_worker_that_still_compiles_its_fused_kernels_is_compared_too(client: TestClient, db: Database) -> None:
    with db.transaction() as session:
        registration.heartbeat(session, WorkerIdentity("wrk_1", "host", 1, "cpu", ("auto", "cpu"), memory=1 * GB))
    (refused,) = refusals(client, training={"kernel": "fused"}, **LARGE)
    assert refused["type"] == "memory"


def test_a_worker_that_reports_no_memory_counts_as_the_largest(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", 64 * GB)
    join(db, "wrk_2", None)
    answer = client.post("/v1/experiments", params={"dry_run": True}, json=written()).json()
    assert answer["worker_memory_bytes"] is None


@pytest.mark.parametrize(("device", "kind"), [("auto", "cpu"), ("cpu", "cpu"), ("cuda", "cuda")])
def test_without_workers_the_memory_is_that_of_the_device_that_the_spec_names(
    client: TestClient, device: str, kind: str
) -> None:
    answer = client.post("/v1/experiments", params={"dry_run": True}, json=written(device=device)).json()
    assert answer["memory_bytes"] == needs(kind)


def test_each_queue_has_its_own_workers_in_one_session(db: Database) -> None:
    """Submissions of one transaction may ask for different devices."""
    join(db, "wrk_1", 1 * GB, "cpu")
    join(db, "wrk_2", 80 * GB, "cuda")
    on_cpu, on_gpu = (resolve(written(device=device, **LARGE)) for device in ("cpu", "cuda"))
    with db.snapshot() as session:
        check(session, on_gpu, footprint(on_gpu), 10)
        with pytest.raises(Invalid):
            check(session, on_cpu, footprint(on_cpu), 10)
        check(session, on_gpu, footprint(on_gpu), 10)


def test_a_refused_spec_undoes_no_transaction(client: TestClient) -> None:
    """Submissions share a transaction. If a refusal undid it, all others would be stored again, one by one."""
    parts: Any = client.app.state  # type: ignore[attr-defined]
    sizes, transactions = [32, 65536] * 2, list[Session]()
    under_way, may_go_on = threading.Event(), threading.Event()

    def hold(session: Session) -> None:
        under_way.set()
        assert may_go_on.wait(10)

    def begun(session: Session, *_: Any) -> None:
        transactions.append(session)

    async def submit() -> list[Any]:
        first = asyncio.create_task(parts.group_commit.write(hold))
        assert await asyncio.to_thread(under_way.wait, 10)
        specs = [written(model={"hidden_size": size, "num_layers": 64}) for size in sizes]
        others = [asyncio.create_task(api.submit(parts, spec, None)) for spec in specs]
        while len(parts.group_commit._waiting) < len(specs):
            await asyncio.sleep(0)
        event.listen(Session, "after_begin", begun)
        may_go_on.set()
        await first
        return await asyncio.gather(*others, return_exceptions=True)

    try:
        outcomes = asyncio.run(submit())
    finally:
        event.remove(Session, "after_begin", begun)
    assert [isinstance(outcome, Invalid) for outcome in outcomes] == [False, True] * 2
    assert len(set(transactions)) == 1


def test_a_worker_that_registers_again_with_more_memory_raises_the_limit(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", 1 * GB)
    assert refusals(client, **LARGE)
    join(db, "wrk_1", 2 * GB)
    assert not refusals(client, **LARGE)
    answer = client.post("/v1/experiments", params={"dry_run": True}, json=written(**LARGE)).json()
    assert (answer["memory_bytes"], answer["worker_memory_bytes"]) == (needs(**LARGE), 2 * GB)


@pytest.mark.parametrize(("device", "needed"), [("cpu", needs("cpu", **LARGE)), ("cuda", needs("cuda", **LARGE))])
def test_on_a_gpu_python_and_torch_are_not_charged(client: TestClient, db: Database, device: str, needed: int) -> None:
    join(db, "wrk_1", needed, device)
    assert refusals(client, **LARGE) == []
    answer = client.post("/v1/experiments", params={"dry_run": True}, json=written(**LARGE)).json()
    assert (answer["memory_bytes"], answer["worker_memory_bytes"]) == (needed, needed)
    join(db, "wrk_1", needed - 1, device)
    (refused,) = refusals(client, **LARGE)
    assert f"a run needs at least {wording.size(needed)} of memory" in refused["msg"]


def taken(db: Database, worker_id: str, queues: tuple[str, ...] = ("auto", "cpu")) -> str | None:
    """The experiment whose run a worker claims."""
    with db.transaction() as session:
        got = lifecycle.claim(session, queues=queues, worker_id=worker_id, lease_seconds=60)
        return None if got is None else session.get_one(Run, got.lease.run_id).experiment_id


def analysis_of(name: str, options: dict[str, Any] | None = None, **model: Any) -> dict[str, Any]:
    return {"task": {"name": name, **(options or {})}, "model": model, "norm": {"method": "none"}}


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("spec", "loc"),
    [
        (analysis_of("step_cost", hidden_size=65536, num_layers=64), ["model", "hidden_size"]),
        (analysis_of("step_cost", {"num_steps": 10_000, "batch_size": 100_000}), ["task", "batch_size"]),
        (analysis_of("gradient_flow", hidden_size=65536), ["model", "hidden_size"]),
        (analysis_of("hidden_dynamics", hidden_size=65536), ["model", "hidden_size"]),
        (analysis_of("smallest_batch", hidden_size=65536), ["model", "hidden_size"]),
    ],
)
def test_an_analysis_that_fits_no_worker_is_refused_with_both_numbers(
    client: TestClient, db: Database, spec: dict[str, Any], loc: list[str], dry_run: bool
) -> None:
    join(db, "wrk_1", 4 * GB)
    needed = footprint(resolve(spec))
    assert needed is not None
    answer = client.post("/v1/experiments", params={"dry_run": dry_run}, json=spec)
    assert answer.status_code == 422, answer.text
    (refused,) = answer.json()["errors"]
    told, _, repair = refused["msg"].rpartition("; ")
    told_too = f"a run needs at least {wording.size(needed.on('cpu'))} of memory"
    assert (refused["loc"], refused["type"]) == (loc, "memory")
    assert told == f"{told_too}, and the largest live worker gives it 4.0 GB"
    part, name = loc
    most = int(repair.removeprefix("use ").removesuffix(" or less").replace(",", ""))
    repaired = footprint(resolve(spec | {part: {**spec[part], name: most}}))
    assert repaired is not None
    assert repaired.on("cpu") <= 4 * GB


def test_an_analysis_that_no_machine_can_hold_is_refused_without_workers(client: TestClient) -> None:
    spec = analysis_of("step_cost", hidden_size=65536, num_layers=64)
    answer = client.post("/v1/experiments", params={"dry_run": True}, json=spec)
    (refused,) = answer.json()["errors"]
    assert refused["loc"] == ["model", "hidden_size"]
    assert "no live worker says how much it has, so the limit is 17,592 GB" in refused["msg"]


def test_an_analysis_on_the_cpu_is_not_compared_with_the_memory_of_a_gpu(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", 1 * GB, "cuda")
    for name, is_refused in (("hidden_dynamics", False), ("step_cost", True)):
        body = analysis_of(name, hidden_size=8192)
        answer = client.post("/v1/experiments", params={"dry_run": True}, json=body)
        assert (answer.status_code == 422) is is_refused, name


def test_an_analysis_that_fits_only_a_larger_worker_is_left_to_that_worker(db: Database) -> None:
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", 2 * GB)
    spec = analysis_of("step_cost", hidden_size=4096)
    needed = footprint(resolve(spec))
    assert needed is not None
    assert 1 * GB < needed.on("cpu") < 2 * GB
    large, small = submitted_analysis(db, spec).id, submitted_analysis(db, analysis_of("step_cost")).id
    assert taken(db, "wrk_small") == small
    assert taken(db, "wrk_small") is None
    assert taken(db, "wrk_large") == large


@pytest.mark.parametrize(
    ("others", "is_taken"),
    [
        ([], True),
        ([("cpu", 1 * GB + 1)], True),
        ([("cpu", 2 * GB)], False),
        ([("cpu", None)], False),
        ([("cuda", 2 * GB)], True),
    ],
    ids=["nobody else", "it fits none", "it fits another", "another does not say", "the other takes other runs"],
)
def test_a_run_that_does_not_fit_is_left_only_to_a_worker_that_may_hold_it(
    db: Database, others: list[tuple[str, int | None]], is_taken: bool
) -> None:
    join(db, "wrk_small", 1 * GB)
    for number, (kind, memory) in enumerate(others):
        join(db, f"wrk_{number}", memory, kind)
    experiment = submitted(db, device="cpu", **LARGE)
    assert taken(db, "wrk_small") == (experiment.id if is_taken else None)


def test_a_worker_that_reports_no_memory_takes_all_runs(db: Database) -> None:
    join(db, "wrk_silent", None)
    join(db, "wrk_large", 2 * GB)
    large = submitted(db, **LARGE).id
    assert taken(db, "wrk_silent") == large


def test_an_older_run_without_a_memory_need_is_taken_by_all_workers(db: Database) -> None:
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", 2 * GB)
    experiment = submitted(db, **LARGE)
    with db.transaction() as session:
        session.execute(update(Run).values(memory_bytes=None))
    assert taken(db, "wrk_small") == experiment.id


def test_a_run_that_waits_for_a_larger_worker_lets_no_newcomer_overtake_others(db: Database) -> None:
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", 2 * GB)
    submitted(db, **LARGE)
    first = submitted(db, seeds=range(6)).id
    assert [taken(db, "wrk_small") for _ in range(3)] == [first] * 3
    second = submitted(db, seeds=range(3)).id
    assert [taken(db, "wrk_small") for _ in range(6)] == [first, second] * 3


def test_cells_of_a_sweep_that_fit_nowhere_are_named(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", 1 * GB)
    sweep = {"spec": written(), "grid": {"model.hidden_size": [16, 4096]}}
    answer = client.post("/v1/sweeps", params={"dry_run": True}, json=sweep)
    assert answer.status_code == 422
    (refused,) = answer.json()["errors"]
    assert "4096" in refused["msg"]
    assert "of memory, and the largest live worker gives it 1.0 GB" in refused["msg"]
