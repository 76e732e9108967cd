"""A database with which pages show everything at once.

It has ties, a diverged entry, a missed target, too large a budget, and experiments that wait, run and failed. Papers
have numbers on the board of permuted_mnist. The curves are invented; our own code pools and judges them.

``python -P -m tests.service.pages.demo`` fills the database of the settings, to look at.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from normcore.events import Measured, Result, Started
from normcore.spec import digest, resolve
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from normcore.target import Aim, Point
from service import results
from service.db import Database
from service.experiments import lifecycle, submission
from service.experiments.machines import Start
from service.experiments.schemas import ExperimentOut
from service.leaderboards.submitted_results import storing
from service.leaderboards.submitted_results.reading import read
from tests.service.sample_runs import QUIET, claimed, recorded, timing_of

ENVIRONMENT = {"host": "node-1", "cpu": "AMD EPYC 7763", "threads": 1, "torch": "2.9.0", "git": "d9e1ab4"}
EVALUATIONS = 40
CONTENDED = (0.1,) * 6 + (0.5,) * 2  # seconds between evaluations, on a machine that others use, too


@dataclass(frozen=True)
class Story:
    """Story of an experiment's seeds.

    Attributes:
        best: the last value of a seed, plus or minus ``spread``.
        pace: updates until two thirds of the way to the last value, as a share of all updates.
        seconds: seconds that an update takes.
        diverge: seeds that diverge.
        contended: seeds that ran on a busy machine.
    """

    method: str
    best: float
    pace: float
    seconds: float = 0.01
    spread: float = 0.002
    seeds: Sequence[int] = (0, 1, 2, 3, 4)
    diverge: Sequence[int] = ()
    contended: Sequence[int] = ()
    parts: Mapping[str, Any] = field(default_factory=dict)


PERMUTED_MNIST = (
    Story("recurrent_batch_norm", 0.955, 0.06, 0.017),
    Story("rms_norm", 0.942, 0.10, 0.011, spread=0.004),
    Story("layer_norm", 0.939, 0.11, 0.0115, spread=0.004),
    Story("sequence_batch_norm", 0.934, 0.14, 0.014),
    Story("weight_norm", 0.926, 0.18, 0.0105, contended=(1, 4)),
    Story("dynamic_tanh", 0.921, 0.20, 0.0102, diverge=(3,)),
    Story("none", 0.920, 0.21, 0.01, spread=0.004),
    Story("layer_norm", 0.882, 0.2, 0.0115, parts={"model": {"hidden_size": 32}}),
    Story(
        "recurrent_batch_norm",
        0.5,
        0.1,
        0.017,
        diverge=(0, 1, 2, 3, 4),
        parts={"norm": {"method": "recurrent_batch_norm", "gain_init": 1.0}},
    ),
    Story("none", 0.927, 0.15, parts={"training": {"max_steps": 200_000}}),
)
SEQUENTIAL_MNIST = (
    Story("recurrent_batch_norm", 0.980, 0.05, 0.017, spread=0.004),
    Story("layer_norm", 0.979, 0.05, 0.0115, spread=0.004),
    Story("weight_norm", 0.972, 0.09, 0.0105, spread=0.001),
    Story("none", 0.965, 0.12, 0.01, spread=0.001),
)
SMALL = (
    Story("layer_norm", 0.90, 0.12, 0.012, spread=0.01, seeds=(0, 1, 2)),
    Story("recurrent_batch_norm", 0.885, 0.10, 0.018, spread=0.01, seeds=(0, 1, 2)),
    Story("none", 0.62, 0.5, 0.010, spread=0.03, seeds=(0, 1, 2)),
)
SPARSE = (Story("layer_norm", 0.83, 0.2, seeds=(0,)), Story("none", 0.61, 0.4, seeds=(0,)))
DIVERGED = tuple(
    Story(method, 0.5, 0.2, seeds=(0, 1, 2), diverge=(0, 1, 2)) for method in ("none", "recurrent_batch_norm")
)


def fill(db: Database) -> dict[str, str]:
    """Store all stories; return ids and fingerprints of experiments by the names that tests look for."""
    found: dict[str, str] = {}
    for story in PERMUTED_MNIST:
        experiment = told(db, story, "permuted_mnist", "paper")
        found.setdefault(story.method, experiment.fingerprint)
    for story in SEQUENTIAL_MNIST:
        told(db, story, "sequential_mnist", "paper")
    for story in SMALL:
        told(db, story, "permuted_digits", "small")
    for story in SPARSE:
        told(db, story, "sequential_digits", "small")
    for story in DIVERGED:
        told(db, story, "sequential_digits", "smoke")
    _claim(db)
    found |= _unfinished(db)
    return found


def _claim(db: Database) -> None:
    """A result that was measured elsewhere."""
    body = {
        "task": {"name": "permuted_mnist", "profile": "paper"},
        "norm": {"method": "rms_norm", "eps": 1e-6},
        "values": [{"seed": seed, "value": value} for seed, value in enumerate((0.951, 0.949, 0.953))],
        "provenance": {"source": "https://example.org/log"},
    }
    with db.transaction() as session:
        storing.store(session, read(body), request_digest=digest(body), idempotency_key=None)


def told(db: Database, story: Story, task: str, profile: ProfileName) -> ExperimentOut:
    """Store an experiment whose runs have all ended as the story says."""
    experiment = _submitted(db, story.method, task, profile, story.seeds, story.parts)
    for _ in experiment.runs:
        _train(db, story, task, profile)
    return experiment


def _submitted(
    db: Database, method: str, task: str, profile: ProfileName, seeds: Sequence[int], parts: Mapping[str, Any]
) -> ExperimentOut:
    written = {"task": {"name": task, "profile": profile}, "norm": {"method": method}, "seeds": [*seeds], **parts}
    with db.transaction() as session:
        return submission.submit(session, resolve(written), memory_bytes=None, request_digest=digest(written))[0]


def _train(db: Database, story: Story, task: str, profile: ProfileName) -> None:
    claim = claimed(db, lease_seconds=3600.0)
    lease, seed = claim.lease, claim.seed
    max_steps = claim.spec["training"]["max_steps"]
    with db.transaction() as session:
        environment = {**ENVIRONMENT, "data": {}}
        begun = Started(0, max_steps, "reference", 54_410, environment)
        lifecycle.start(session, lease, begun, device="cpu", resumed_from=None)
    curve = _curve(story, seed, max_steps)
    recorded(db, lease, *(_measured(point) for point in curve), saved=curve[-1].step)
    target = BENCHMARKS[task].profiles[profile].training["target"]
    with db.transaction() as session:
        outcome: Any = "diverged" if seed in story.diverge else "completed"
        windows = CONTENDED if seed in story.contended else timing_of().windows
        timing = timing_of(training=curve[-1].seconds, windows=windows)
        start = Start.of(environment).add_probe(QUIET)
        results.finish(session, lease, outcome, _result(story, seed, curve, target), timing, start)


def _curve(story: Story, seed: int, max_steps: int) -> list[Point]:
    """Validation accuracy from chance towards the best; for a seed that diverges, only the first tenth."""
    dice = Random(f"{story.method} {story.best} {seed}")
    best = story.best + dice.gauss(0, story.spread)
    points = []
    for k in range(1, EVALUATIONS + 1):
        step = max_steps * k // EVALUATIONS
        value = best - (best - 0.1) * math.exp(-k / EVALUATIONS / story.pace) + dice.gauss(0, 0.004)
        points.append(Point(step, min(value, 1.0), step * story.seconds * (1 + 0.02 * (seed % 3))))
    return points[: EVALUATIONS // 10] if seed in story.diverge else points


def _measured(point: Point) -> Measured:
    loss = -math.log(max(point.value, 0.01))
    return Measured(point.step, point.seconds, {"valid.accuracy": point.value, "train.loss": loss})


def _result(story: Story, seed: int, curve: Sequence[Point], target: float) -> Result:
    diverged = seed in story.diverge
    chosen = max(curve, key=lambda point: point.value)
    value = None if diverged else chosen.value - 0.002
    aim = Aim(target, "maximize")
    for point in curve:
        aim.note(point)
    reached = aim.time
    return Result(
        metric="accuracy",
        values={} if value is None else {"accuracy": value},
        value=value,
        valid_value=None if diverged else chosen.value,
        no_skill=0.1,
        step=None if diverged else chosen.step,
        steps_to_target=reached.steps if reached.reached else None,
        seconds_to_target=reached.seconds if reached.reached else None,
        steps_below_target=None if reached.reached else reached.steps,
        seconds_below_target=None if reached.reached else reached.seconds,
        train_seconds=curve[-1].seconds,
    )


def _unfinished(db: Database) -> dict[str, str]:
    """Store an experiment that failed, one with a running seed, and two that wait; return ids by state."""
    failed = _submitted(db, "weight_norm", "permuted_digits", "small", (0, 1), {"labels": {"team": "vision"}})
    for _ in failed.runs:
        lease = claimed(db, lease_seconds=3600.0).lease
        with db.transaction() as session:
            lifecycle.fail(session, lease, "RuntimeError: no such kernel <script>alert(1)</script>")
    running = _submitted(db, "rms_norm", "permuted_digits", "small", (0, 1, 2), {})
    lease = claimed(db, lease_seconds=3600.0).lease
    with db.transaction() as session:
        lifecycle.start(
            session, lease, Started(0, 200, "reference", 54_410, ENVIRONMENT), device="cpu", resumed_from=None
        )
    curve = _curve(Story("rms_norm", 0.9, 0.1), 0, 200)[:20]
    recorded(db, lease, *(_measured(point) for point in curve), saved=curve[-1].step)
    waiting = _submitted(db, "dynamic_tanh", "permuted_digits", "small", (0, 1, 2), {})
    _submitted(db, "layer_norm", "permuted_mnist", "paper", (7, 8), {"labels": {"note": "<script>alert(1)</script>"}})
    return {"failed": failed.id, "running": running.id, "waiting": waiting.id}


if __name__ == "__main__":
    from service.processes.migrate import migrate
    from service.settings import Settings, read_settings

    settings = read_settings(Settings)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    database = Database(settings.database_url)
    migrate(database)
    for called, found in fill(database).items():
        print(called, found)
    database.close()
