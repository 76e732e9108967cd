"""Data of tests: specs as users write them, runs in the states that a test needs, events of trainings."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import select

from normcore.events import Analysed, Finding, Measured, Outcome, Result, Started, Timing
from normcore.footprint import footprint
from normcore.spec import TASKS, digest, resolve
from service import results
from service.db import Database
from service.experiments import lifecycle, memory, submission
from service.experiments.lifecycle import ClaimedRun, Lease
from service.experiments.machines import Start
from service.experiments.schemas import ExperimentOut
from service.experiments.tables import Measurement, Run
from service.leaderboards.submitted_results import storing
from service.leaderboards.submitted_results.reading import read
from service.leaderboards.submitted_results.tables import SubmittedResult

LEASE_SECONDS = 60.0
MAX_STEPS = TASKS["permuted_digits"].profiles["smoke"].training["max_steps"]
QUIET = (0.02,) * 9  # seconds of the reference kernel
ALL_QUEUES = ("auto", "cpu", "cuda")


def written(method: str = "layer_norm", seeds: Sequence[int] = (0,), **parts: Any) -> dict[str, Any]:
    """A small spec as a user writes it."""
    spec = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": method}, "seeds": list(seeds)}
    return {**spec, **parts}


def submitted(db: Database, *args: Any, **parts: Any) -> ExperimentOut:
    """Store an experiment with its queued runs."""
    body = written(*args, **parts)
    experiment = _stored(db, body)
    assert len(experiment.runs) == len(body["seeds"])
    return experiment


def _stored(db: Database, body: Mapping[str, Any]) -> ExperimentOut:
    """Store a spec as a user wrote it."""
    spec = resolve(body)
    memory_bytes = memory.tensors(footprint(spec))
    with db.transaction() as session:
        return submission.submit(session, spec, memory_bytes=memory_bytes, request_digest=digest(body))[0]


def claimed(db: Database, *, worker_id: str = "wrk_1", lease_seconds: float = LEASE_SECONDS) -> ClaimedRun:
    """Claim the next run for a worker."""
    with db.transaction() as session:
        claim = lifecycle.claim(session, queues=ALL_QUEUES, worker_id=worker_id, lease_seconds=lease_seconds)
    assert claim is not None
    return claim


@contextmanager
def worker(db: Database, train: Callable[[ClaimedRun], object]) -> Iterator[None]:
    """A thread that claims queued runs until the block ends, and gives each to ``train``, which ends it."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with db.transaction() as session:
                claim = lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk_1", lease_seconds=LEASE_SECONDS)
            if claim is None:
                stop.wait(0.05)
            else:
                train(claim)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def begun(
    db: Database, lease: Lease, step: int = 0, resumed_from: int | None = None, code: Mapping[str, Any] | None = None
) -> None:
    """Start the run's training. ``code`` are the digests that its environment has; None for none."""
    told = started(step)
    if code is not None:
        told = replace(told, environment={**told.environment, "code": code})
    with db.transaction() as session:
        lifecycle.start(session, lease, told, device="cpu", resumed_from=resumed_from)


def recorded(db: Database, lease: Lease, *measured: Measured, saved: int = 0) -> bool:
    """Store these measurements; ``saved`` is the step of a checkpoint that was stored, 0 for none."""
    step, seconds = max((m.step for m in measured), default=0), max((m.seconds for m in measured), default=0.0)
    with db.transaction() as session:
        return lifecycle.record(session, lease, measured, step=step, seconds=seconds, pace=10.0, saved=saved)


def finished(
    db: Database, lease: Lease, outcome: Outcome = "completed", *, timing: Timing | None = None, **result: Any
) -> None:
    """End the run as succeeded, and pool it. It was alone on its machine unless ``timing`` says otherwise."""
    start = Start.of(run_of(db, lease.run_id).environment or {}).add_probe(QUIET)
    with db.transaction() as session:
        results.finish(session, lease, outcome, result_of(**result), timing or timing_of(), start)


def submitted_result(db: Database, method: str = "layer_norm", values: Sequence[float] = (0.5,)) -> SubmittedResult:
    """Store a result that was measured elsewhere."""
    body = written(method)
    del body["seeds"]
    body |= {"values": [{"seed": seed, "value": value} for seed, value in enumerate(values)]}
    body |= {"provenance": {"source": "https://example.org/log"}}
    with db.transaction() as session:
        return storing.store(session, read(body), request_digest=digest(body), idempotency_key=None)[0]


def submitted_analysis(db: Database, spec: Mapping[str, Any]) -> ExperimentOut:
    """Store an analysis with its queued run."""
    return _stored(db, spec)


def analysed(db: Database, spec: Mapping[str, Any], *findings: Finding, code: Mapping[str, Any] | None = None) -> str:
    """Store a run of this analysis that has ended with these findings; return its id."""
    run_id = submitted_analysis(db, spec).runs[0].id
    lease = claimed(db).lease
    assert lease.run_id == run_id
    with db.transaction() as session:
        lifecycle.start(
            session,
            lease,
            Started(0, 3, "reference", 0, {"code": code} if code else {}),
            device="cpu",
            resumed_from=None,
        )
        results.finish_analysis(session, lease, Analysed(findings, 1.5))
    return run_id


def failed(db: Database, lease: Lease, error: str = "no such kernel") -> None:
    """End the run as failed."""
    with db.transaction() as session:
        lifecycle.fail(session, lease, error)


def run_of(db: Database, run_id: str) -> Run:
    """The run's row as it is stored now."""
    with db.snapshot() as session:
        return session.scalars(select(Run).where(Run.id == run_id)).one()


def rows_of(db: Database, run_id: str) -> list[tuple[int, str, float, float, int]]:
    """Everything measured of a run: step, series, value, seconds, attempt."""
    with db.snapshot() as session:
        query = select(
            Measurement.step, Measurement.series, Measurement.value, Measurement.seconds, Measurement.attempt
        ).where(Measurement.run_id == run_id)
        return sorted((step, series, value, at, by) for step, series, value, at, by in session.execute(query))


def started(step: int = 0) -> Started:
    """A training that begins at ``step``."""
    return Started(step=step, max_steps=MAX_STEPS, kernel="reference", parameters=1234, environment={"torch": "2.9"})


def measured(step: int, **values: float) -> Measured:
    """An evaluation, half a second a step; series are written with two underscores for the dot."""
    named: Mapping[str, float] = {name.replace("__", "."): value for name, value in values.items()}
    return Measured(step, step / 2, named or {"valid.accuracy": step / 100})


def result_of(**changes: Any) -> Result:
    """Result of a run. By default, ``values`` has only the value of its metric."""
    usual = {
        "metric": "accuracy",
        "value": 0.5,
        "valid_value": 0.6,
        "no_skill": 0.1,
        "step": 30,
        "steps_to_target": 20,
        "seconds_to_target": 2.0,
        "train_seconds": 4.0,
    }
    given = {**usual, **changes}
    missed = given["steps_to_target"] is None
    given = {"steps_below_target": MAX_STEPS if missed else None, **given}
    given = {"seconds_below_target": 4.0 if missed else None, **given}
    values = {} if given["value"] is None else {given["metric"]: given["value"]}
    return Result(**{"values": values, **given})


def timing_of(**changes: Any) -> Timing:
    """Timing of a run of four seconds, alone on its machine."""
    usual: dict[str, Any] = {"compile": 0.2, "data": 0.1, "warm_up": 0.05, "training": 4.0, "evaluation": 0.5}
    return Timing(**{**usual, "windows": (0.1,) * 8, "probe": QUIET, **changes})


def started_on(host: str = "here") -> Start:
    """Start of a training on a host."""
    return Start.of({"host": host, "torch": "2.9"}).add_probe(QUIET)
