"""Boards and entries for tests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.testclient import TestClient

from normcore.events import Outcome
from normcore.spec import digest, resolve
from service.db import Database
from service.experiments import lifecycle, submission
from service.experiments.schemas import ExperimentOut
from tests.service.sample_runs import claimed, finished, started, submitted


def ended(db: Database, experiment: ExperimentOut, *results: dict[str, Any]) -> str:
    """End the experiment's runs with these results; return its fingerprint."""
    for result in results:
        lease = claimed(db).lease
        assert lease.run_id in {run.id for run in experiment.runs}
        outcome: Outcome = "diverged" if result.get("value", 0) is None else "completed"
        finished(db, lease, outcome, **result)
    return experiment.fingerprint


def result(db: Database, method: str, values: Sequence[float | None], steps: Sequence[int | None], **parts: Any) -> str:
    """Store an ended experiment whose seeds have these values and steps to the target; return its fingerprint."""
    experiment = submitted(db, method, seeds=range(len(values)), **parts)
    results = [
        {"value": v, "steps_to_target": s, "seconds_to_target": None if s is None else s / 4}
        for v, s in zip(values, steps, strict=True)
    ]
    return ended(db, experiment, *results)


def measured(db: Database, written: dict[str, Any], value: float, metric: str = "accuracy") -> str:
    """Store an ended experiment of any task, with one seed of this value; return its fingerprint."""
    with db.transaction() as session:
        experiment, _ = submission.submit(session, resolve(written), memory_bytes=None, request_digest=digest(written))
        assert experiment.runs
    return ended(db, experiment, {"metric": metric, "value": value, "no_skill": 0.1 if metric == "accuracy" else 10.0})


def trained_by(db: Database, method: str, *kernels: str, first_seed: int = 0, **result: Any) -> None:
    """Store an ended experiment whose seeds ran by these kernels, all with the same result."""
    submitted(db, method, seeds=range(first_seed, first_seed + len(kernels)))
    for kernel in kernels:
        lease = claimed(db).lease
        with db.transaction() as session:
            lifecycle.start(session, lease, replace(started(), kernel=kernel), device="cpu", resumed_from=None)
        finished(db, lease, **result)


def board(client: TestClient, task: str = "permuted_digits", profile: str = "smoke", **query: Any) -> dict[str, Any]:
    answer = client.get(f"/v1/leaderboards/{task}", params={"profile": profile, **query})
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content
