"""Sweeps that tests begin with, and runs that end with the value that a test wants."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from normcore.code_version import code_version
from normcore.events import Outcome, Started
from normcore.spec import digest
from service import results
from service.db import Database
from service.experiments import lifecycle
from service.experiments.machines import Start
from service.experiments.tables import Experiment, Run
from service.http.answer_cache import AnswerCache
from service.sweeps import expansion, queries, submission
from service.sweeps.schemas import Sweep, SweepCell
from service.sweeps.spec import read
from tests.service.sample_runs import ALL_QUEUES, LEASE_SECONDS, MAX_STEPS, QUIET, result_of, timing_of

SPEC: dict[str, Any] = {"task": {"name": "permuted_digits", "profile": "smoke"}}
METHODS = {"norm.method": ["none", "layer_norm"]}
LR = "training.optimizer.lr"
CODE = {
    "normbench": code_version().version,
    "git": code_version().git,
    "method": None,
    "task": None,
    "cell": None,
}


def posted(grid: Mapping[str, Sequence[Any]] = METHODS, *, spec: Mapping[str, Any] = SPEC, **more: Any) -> Any:
    """A sweep as a user posts it."""
    return {"spec": dict(spec), "grid": dict(grid), **more}


def stored(db: Database, body: Any) -> str:
    """The id of a stored sweep."""
    written = read(body)
    cells = expansion.cells(written, None)
    with db.transaction() as session:
        return submission.submit(session, written, cells, request_digest=digest(body), idempotency_key=None).sweep_id


def shown(db: Database, sweep_id: str) -> Sweep:
    with db.snapshot() as session:
        return queries.sweep(session, AnswerCache(), sweep_id)


def cell(db: Database, sweep_id: str, **values: Any) -> SweepCell:
    """The cell with these values; each path is given by its last word."""
    [found] = [
        one
        for one in shown(db, sweep_id).cells
        if values.items() <= {path.rpartition(".")[2]: value for path, value in one.values.items()}.items()
    ]
    return found


Worth = Callable[[Mapping[str, Any], int], float | None]


def run_all(db: Database, worth: Worth, *, device: str = "cpu", environment: Mapping[str, Any] = CODE) -> list[int]:
    """End every queued run with the value that ``worth`` gives for its spec and seed; None makes the run diverge.

    Returns:
        The seeds, in the order in which the runs were claimed.
    """
    seeds: list[int] = []
    while True:
        with db.transaction() as session:
            claim = lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk_1", lease_seconds=LEASE_SECONDS)
            if claim is None:
                return seeds
            started = Started(0, MAX_STEPS, "reference", 1, dict(environment))
            lifecycle.start(session, claim.lease, started, device=device, resumed_from=None)
            value = worth(claim.spec, claim.seed)
            start = Start.of(environment).add_probe(QUIET)
            outcome: Outcome = "diverged" if value is None else "completed"
            results.finish(session, claim.lease, outcome, result_of(value=value, valid_value=value), timing_of(), start)
            seeds.append(claim.seed)


def runs_of(db: Database, sweep_id: str) -> list[tuple[str, int, int]]:
    """Method, seed and turn of the sweep's runs, in the order in which they will be claimed."""
    with db.snapshot() as session:
        rows = session.execute(
            select(Experiment.method, Run.seed, Run.turn)
            .join(Experiment)
            .where(Experiment.sweep_id == sweep_id)
            .order_by(Run.turn, Run.id)
        )
        return [(method or "", seed, turn) for method, seed, turn in rows]
