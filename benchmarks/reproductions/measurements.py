"""Results of a section's specs, read from a database of runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec, TrainingSpec
from normcore.target import Point, Time
from service.artifacts import Artifacts
from service.experiments.tables import Experiment, Measurement, Run
from service.leaderboards.entry import EntryStatistics, RunResult, read_pooled, spans_of
from service.leaderboards.tables import Entry


@dataclass(frozen=True, slots=True)
class Machine:
    """Machine, torch version and commit of a run."""

    cpu: str
    gpu: str | None
    threads: int
    torch: str
    commit: str | None
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class SpecResults:
    """Results of all succeeded runs of one spec.

    Attributes:
        runs: ids of the runs, by seed.
        values: test values of the metric that ranks, by seed; None for a diverged run.
        times: times to the target, by seed; for a miss, the last time at which the run was seen without the target.
        shown: last value of one more series, by seed.
        curves: curves of the metric that ranks, on validation data, by seed.
        minutes: mean minutes of a run, for training and evaluation.
    """

    pooled: EntryStatistics
    runs: Mapping[int, str]
    values: Mapping[int, float | None]
    times: Mapping[int, Time]
    shown: Mapping[int, float]
    curves: Mapping[int, Sequence[Point]]
    minutes: float
    machines: Sequence[Machine]

    @property
    def steps(self) -> Mapping[int, float | None]:
        """Updates to the target, by seed; None for a seed that did not reach the target."""
        return {seed: time.steps if time.reached else None for seed, time in self.times.items()}

    @property
    def run_to_show(self) -> str | None:
        """Id of the first run that did not diverge, so that its model can be shown; None if all diverged."""
        return next((run for seed, run in self.runs.items() if self.values[seed] is not None), None)


def trained(session: Session, spec: TrainingSpec, series: str) -> SpecResults | None:
    """Read the results of a spec; None before one of its runs has succeeded.

    Args:
        series: name of the series for ``shown``.
    """
    entry = session.get(Entry, spec.fingerprint())
    if entry is None or not entry.results:
        return None
    results, runs = [RunResult(**stored) for stored in entry.results], _runs(session, spec)
    metric = spec.task.metric().name
    return SpecResults(
        pooled=read_pooled(entry.pooled),
        runs={result.seed: result.run_id for result in results},
        values={result.seed: result.converged for result in results},
        times=spans_of(results),
        shown={result.seed: value for result in results for value in _last(session, result.run_id, series)},
        curves={result.seed: _curve(session, result.run_id, metric) for result in results},
        minutes=sum(run.seconds for run in runs) / len(runs) / 60,
        machines=[_machine(run) for run in runs],
    )


def made_by(run_id: str, artifact: str, artifacts: Artifacts) -> bytes:
    """Content of an artifact, from the last attempt of the run that stored it."""
    attempt = max(found.attempt for found in artifacts.list(run_id) if found.name == artifact)
    return artifacts.read(run_id, attempt, artifact)


@dataclass(frozen=True, slots=True)
class AnalysisFindings:
    """Findings of the newest run of an analysis, and the run's machine."""

    findings: Sequence[Mapping[str, Any]]
    machines: Sequence[Machine]


def analysed(session: Session, spec: ExperimentSpec) -> AnalysisFindings | None:
    """Read the findings of an analysis' newest run; None before a run has succeeded."""
    return _found(_runs(session, spec))


def analysed_runs_of(session: Session, spec: ExperimentSpec, task: str) -> AnalysisFindings | None:
    """Read the findings of the newest analysis ``task`` of a run of the training ``spec``; None if there is none."""
    looked_into = {run.id for run in _runs(session, spec)}
    experiments = session.scalars(select(Experiment).where(Experiment.task == task).order_by(Experiment.id))
    found = [e for e in experiments if e.spec["task"]["run"] in looked_into]
    return _found([run for experiment in found for run in experiment.runs if run.state == "succeeded"])


def _found(runs: Sequence[Run]) -> AnalysisFindings | None:
    if not runs:
        return None
    return AnalysisFindings(cast(dict[str, Any], runs[-1].result)["findings"], [_machine(runs[-1])])


def _runs(session: Session, spec: ExperimentSpec) -> Sequence[Run]:
    """Succeeded runs of a spec, the newest last."""
    query = (
        select(Run)
        .join(Experiment)
        .where(Experiment.fingerprint == spec.fingerprint(), Run.state == "succeeded")
        .order_by(Run.id)
    )
    return session.scalars(query).all()


def _last(session: Session, run_id: str, series: str) -> Iterator[float]:
    """Yield the last value of a series; nothing if the run has no such series."""
    of_run = (Measurement.run_id == run_id, Measurement.series == series)
    newest = select(func.max(Measurement.step)).where(*of_run).scalar_subquery()
    yield from session.scalars(select(Measurement.value).where(*of_run, Measurement.step == newest))


def _curve(session: Session, run_id: str, metric: str) -> list[Point]:
    columns = (Measurement.step, Measurement.value, Measurement.seconds)
    of_run = select(*columns).where(Measurement.run_id == run_id, Measurement.series == f"valid.{metric}")
    return [Point(*row) for row in session.execute(of_run.order_by(Measurement.step))]


def _machine(run: Run) -> Machine:
    environment = run.environment or {}
    return Machine(
        cpu=environment.get("cpu", "unknown"),
        gpu=environment.get("gpu"),
        threads=environment.get("threads", 1),
        torch=environment.get("torch", "unknown"),
        commit=environment.get("git"),
        finished_at=cast(datetime, run.finished_at),
    )
