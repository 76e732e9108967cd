"""What the API shows of experiments and runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from normcore.spec.metric import Direction
from service.experiments.tables import Experiment, Run

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
UNKNOWN_YET: dict[str, Any] = dict.fromkeys(  # of a run that no worker has begun
    ("resumed_from_step", "outcome", "result", "device", "kernel", "environment", "error", "started_at", "finished_at")
)


class ProgressOut(BaseModel):
    """How far a run is; ``eta_seconds`` is null until its pace is known."""

    step: int
    max_steps: int
    eta_seconds: float | None


class RunOut(BaseModel):
    """One seed of an experiment."""

    id: str
    experiment_id: str
    seed: int
    state: State
    attempt: int
    resumed_from_step: int | None
    outcome: Literal["completed", "reached_target", "diverged"] | None
    progress: ProgressOut
    result: dict[str, Any] | None
    device: str | None
    kernel: str | None
    environment: dict[str, Any] | None
    error: str | None
    history: list[dict[str, Any]]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class ExperimentSummary(BaseModel):
    """An experiment as a list shows it: how many of its runs are in which state."""

    id: str
    fingerprint: str
    state: State
    spec: dict[str, Any]
    runs_by_state: dict[State, int]
    created_at: datetime


class ExperimentOut(BaseModel):
    """An experiment with its runs, in the order of its seeds."""

    id: str
    fingerprint: str
    state: State
    spec: dict[str, Any]
    runs: list[RunOut]
    created_at: datetime


class SeriesOut(BaseModel):
    """A curve: points of step, value and training seconds. ``direction`` is null where neither way is better."""

    unit: str
    direction: Direction | None
    points: list[tuple[int, float, float]]


class MeasurementsOut(BaseModel):
    """All or some curves of a run, by name."""

    series: dict[str, SeriesOut]


class ArtifactOut(BaseModel):
    """A file of a run."""

    name: str
    size: int
    url: str


class ArtifactList(BaseModel):
    """All files of a run, in one page."""

    items: list[ArtifactOut]
    next_cursor: None = None


def run_out(run: Run) -> RunOut:
    eta = None
    if run.state == "running" and run.steps_per_second:
        eta = round((run.max_steps - run.step) / run.steps_per_second, 1)
    return RunOut(
        id=run.id,
        experiment_id=run.experiment_id,
        seed=run.seed,
        state=run.state,
        attempt=run.attempt,
        resumed_from_step=run.resumed_from_step,
        outcome=run.outcome,
        progress=ProgressOut(step=run.step, max_steps=run.max_steps, eta_seconds=eta),
        result=run.result,
        device=run.device,
        kernel=run.kernel,
        environment=run.environment,
        error=run.error,
        history=run.history,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


def experiment_out(experiment: Experiment) -> ExperimentOut:
    return ExperimentOut(
        id=experiment.id,
        fingerprint=experiment.fingerprint,
        state=derived_state([(run.state, run.started_at is not None) for run in experiment.runs]),
        spec=experiment.spec,
        runs=[run_out(run) for run in experiment.runs],
        created_at=experiment.created_at,
    )


def submitted_out(experiment: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> ExperimentOut:
    """A new experiment from the rows that are stored of it and its runs; objects for them would cost more."""
    return ExperimentOut(**experiment, state="queued", runs=[_queued_run_out(run) for run in runs])


def _queued_run_out(run: Mapping[str, Any]) -> RunOut:
    progress = ProgressOut(step=run["step"], max_steps=run["max_steps"], eta_seconds=None)
    return RunOut(**run, **UNKNOWN_YET, progress=progress)


def derived_state(runs: list[tuple[str, bool]]) -> State:
    """An experiment's state from its runs' states and whether each ever started."""
    states = {state for state, _ in runs}
    if states & {"queued", "running"}:
        return "running" if any(started for _, started in runs) else "queued"
    if "failed" in states:
        return "failed"
    return "cancelled" if "cancelled" in states else "succeeded"
