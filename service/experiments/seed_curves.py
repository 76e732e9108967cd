"""Curves of an experiment's seeds, and their mean. The curves show the metric that ranks, on validation data."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.spec.tasks import BENCHMARKS
from normcore.target import Point
from service.experiments import queries
from service.experiments.schemas import ExperimentOut
from service.experiments.tables import Measurement, of_experiment
from service.statistics.curves import by_steps


@dataclass(frozen=True, slots=True)
class SeedCurve:
    """Curve of one run of an experiment.

    Attributes:
        attempt: the attempt that measured the last point.
    """

    run_id: str
    seed: int
    attempt: int
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class SeedCurves:
    """Curves of an experiment's seeds.

    Attributes:
        mean: mean of the seeds, at steps where every seed that has begun has a value. So every point is about the same
            seeds. Empty for fewer than two seeds.
    """

    metric: str
    seeds: Sequence[SeedCurve]
    mean: Sequence[Point]

    @property
    def series(self) -> str:
        return f"valid.{self.metric}"


def seed_curves(session: Session, experiment: ExperimentOut) -> SeedCurves | None:
    """Read the curves of an experiment's seeds. None for an analysis, or for a task that is not installed here."""
    benchmark = BENCHMARKS.get(experiment.spec["task"]["name"])
    if benchmark is None:
        return None
    metric = benchmark.metric().name
    points: dict[str, list[Point]] = {run.id: [] for run in experiment.runs}
    rows = session.execute(
        select(Measurement.run_id, Measurement.step, Measurement.value, Measurement.seconds)
        .where(Measurement.run_id.in_(points), Measurement.series == f"valid.{metric}")
        .order_by(Measurement.run_id, Measurement.step)
    )
    for run_id, step, value, seconds in rows:
        points[run_id].append(Point(step, value, seconds))
    attempts = queries.read_last_steps(session, of_experiment(experiment.id))
    seeds = [
        SeedCurve(run.id, run.seed, attempts.get(run.id, (run.attempt, 0))[0], points[run.id])
        for run in experiment.runs
    ]
    return SeedCurves(metric, seeds, mean_of(seeds))


def mean_of(seeds: Sequence[SeedCurve]) -> list[Point]:
    """Mean of the seeds' curves, see ``SeedCurves.mean``."""
    begun = {seed.seed: seed.points for seed in seeds if seed.points}
    if len(begun) < 2:
        return []
    return [Point(round(b.step), b.mean, b.seconds) for b in by_steps(begun) if b.n == len(begun)]
