"""Answer types of experiments and runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import BaseModel, Field, computed_field

from normcore.events import Outcome, Phase
from normcore.spec.metric import Direction
from normcore.spec.names import name_of_spec
from service.experiments.certificates import Certificate
from service.experiments.tables import Experiment, Run
from service.http.openapi import Code, ResolvedSpec, described_as

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
UNKNOWN_YET: dict[str, Any] = dict.fromkeys(  # of a run that has not started
    (
        "resumed_from_step",
        "outcome",
        "result",
        "device",
        "kernel",
        "environment",
        "timing",
        "error",
        "started_at",
        "finished_at",
    )
) | {"of_older_code": False}

AnyResult = Annotated[
    Annotated[dict[str, Any], described_as("AnyResult")] | None, Field(description="Null until the run has succeeded.")
]
Environment = Annotated[dict[str, Any], described_as("Environment")]


class PresentCode(NamedTuple):
    """The code of the runs of a spec that count, see ``codes``.

    Attributes:
        is_known: whether any run of the spec has succeeded.
        code: digest of the spec's own parts; None if those runs do not tell.
    """

    is_known: bool
    code: str | None


UNKNOWN = PresentCode(False, None)


class ProgressOut(BaseModel):
    """Progress of a run."""

    step: int
    max_steps: int
    eta_seconds: float | None = Field(description="Seconds left; null until the run's pace is known.")
    phase: Phase | None = Field(description="Of the evaluation that is going on; null between evaluations.")


class HistoryEntry(BaseModel):
    """Something that went wrong with an attempt."""

    attempt: int
    at: datetime
    reason: str
    lost: bool = Field(description="Whether the attempt broke off, which counts against the run.")


class TimingOut(BaseModel):
    """Seconds of a training by purpose, in all attempts that led to its end, and their certificate."""

    training: float = Field(description="The updates, and nothing else. Curves and boards count these.")
    evaluation: float = Field(description="Population statistics, validation and test.")
    data: float = Field(
        description="Reading the data set and drawing batches. A GPU computes while batches are drawn: there it is"
        " reading alone."
    )
    compile: float = Field(description="Building the model, and compiling or loading its kernels.")
    warm_up: float = Field(description="Passes before the first update that leave no trace in the model.")
    certificate: Certificate = Field(description="Whether the run was alone on its machine.")


class RunOut(BaseModel):
    """One seed of an experiment."""

    id: str
    experiment_id: str
    seed: int
    state: State
    attempt: int
    resumed_from_step: int | None = Field(
        description="The checkpoint's step that this attempt went on from; null if it began anew, or has not begun."
    )
    outcome: Outcome | None
    progress: ProgressOut
    result: AnyResult
    device: str | None
    kernel: str | None = Field(
        description="The implementation that ran: `reference`, `fused`, or `fused reference` if both did, in one model"
        " or one after the other, as the run resumed on another worker."
    )
    environment: Environment | None = Field(
        description="Packages, hardware, code version and data checksums of its last attempt; `kernels`: what all fused"
        " ones that ran were compiled for."
    )
    timing: TimingOut | None = Field(description="Seconds; null until a training has succeeded.")
    error: str | None
    history: list[HistoryEntry]
    of_older_code: bool = Field(
        description="Whether it is set aside: runs of other code of the spec's own parts count in its place."
    )
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class OfSpec(BaseModel):
    """Answer that has a spec."""

    spec: ResolvedSpec

    @computed_field(  # type: ignore[prop-decorator]
        description="The method with every option in which the spec differs from the profile; null without a method."
    )
    @property
    def name(self) -> str | None:
        return name_of_spec(self.spec)


class ExperimentSummary(OfSpec):
    """An experiment as a list shows it: how many of its runs are in which state."""

    id: str
    fingerprint: str
    state: State
    runs_by_state: dict[State, int]
    created_at: datetime


class ExperimentOut(OfSpec):
    """An experiment with its runs, in the order of its seeds."""

    id: str
    fingerprint: str
    state: State
    problem: str | None = Field(description="What its board ranks, see `/v1/leaderboards`; null for an analysis.")
    budget: int | None = Field(description="Examples that each training may see; null for an analysis.")
    sweep_id: str | None = Field(description="The sweep that it is a part of; null if it is of none.")
    runs: list[RunOut]
    created_at: datetime


class OtherCode(BaseModel):
    """A live worker whose code of the spec's own parts is not that of the API."""

    worker: str
    host: str
    pid: int
    device: str
    parts: list[str] = Field(description="Parts of the spec whose code differs there, or is missing.")


class CodeOut(Code):
    """The code that the API's machine has for a spec."""

    workers: list[OtherCode] = Field(description="Live workers that would train other code.")


class MemoryOut(BaseModel):
    """Bytes that a training needs at least."""

    weights: int = Field(description="The parameters, and those of the best model so far.")
    gradients: int
    optimizer: int = Field(description="What the optimizer keeps of each parameter.")
    backward: int = Field(description="What a forward pass keeps for the backward pass.")
    data: int = Field(description="The data set; 0 where its size in memory is not known.")
    process: int = Field(description="Python and torch. On a GPU it does not count: it lies in the machine's memory.")


class PlanOut(OfSpec):
    """Plan of an experiment, as a dry run answers it."""

    fingerprint: str
    runs: int
    code: CodeOut
    measured_seeds: list[int] = Field(
        description="Seeds of this spec that the present code of its own parts has measured here."
    )
    seconds_per_run: float | None = Field(
        description="Expected seconds of one run, evaluation included; null if unknown."
    )
    total_seconds: float | None = Field(description="Expected seconds of all runs, one after the other.")
    total_seconds_range: tuple[float, float] | None = Field(
        description="The same, were all runs as fast as the fastest that this is based on, and as slow as the slowest."
    )
    basis: str | None = Field(description="What was measured on this service to expect that; null if nothing was.")
    queue_position: int = Field(description="Place of its first run in the queue; 1 is the next to be taken.")
    memory_bytes: int | None = Field(
        description="What a run needs at least, by the spec's sizes, of the memory of the live worker that has most"
        " room for it; null for an analysis, and for a model whose cost is not known."
    )
    memory: MemoryOut | None = Field(description="The same by what it is for, in bytes.")
    worker_memory_bytes: int | None = Field(
        description="What that worker gives a training; null if it does not say, and if no live worker takes its runs."
    )


class RanWith(BaseModel):
    """Origin of numbers besides the spec; empty if no run has started."""

    code: dict[str, str] = Field(
        description="Version of normbench, commit of its source, and the digest of each of the spec's own parts."
    )
    packages: dict[str, str] = Field(description="Versions.")
    plug_ins: dict[str, str] = Field(description="Packages that the method, task or cell comes from, if not ours.")
    machine: dict[str, str] = Field(description="Hardware, threads, and what fused kernels were compiled for.")
    data: dict[str, str] = Field(description="SHA-256 of each data set.")


class ReplayRunOut(RanWith):
    """Origin of one run's numbers."""

    run_id: str
    seed: int
    state: State
    device: str | None
    kernel: str | None


class ReplayOut(RanWith):
    """Recipe of an experiment. Its own parts are those of the first run that has started."""

    experiment_id: str
    fingerprint: str
    spec: ResolvedSpec
    runs: list[ReplayRunOut]


class SeriesOut(BaseModel):
    """A curve."""

    unit: str
    direction: Direction | None = Field(description="Null where neither way is better.")
    points: list[tuple[int, float, float]] = Field(description="Step, value and training seconds.")


class MeasurementsOut(BaseModel):
    """All or some curves of a run, by name."""

    x: str = Field(description="What the curves go over: `step`, of a training; of an analysis also other things.")
    series: dict[str, SeriesOut]


class FigureOut(BaseModel):
    """A figure as Plotly JSON."""

    data: list[dict[str, Any]] = Field(description="Traces.")
    layout: dict[str, Any]


class ArtifactOut(BaseModel):
    """A file of a run."""

    name: str
    size: int = Field(description="Bytes.")
    url: str


class ArtifactList(BaseModel):
    """All files of a run, in one page."""

    items: list[ArtifactOut]
    next_cursor: None = None


def run_out(run: Run, present: PresentCode = UNKNOWN) -> RunOut:
    """A run as the API shows it.

    Args:
        present: the code that runs of this spec have now.
    """
    running = run.state == "running"
    eta = round((run.max_steps - run.step) / run.steps_per_second, 1) if running and run.steps_per_second else None
    phase = cast(Phase | None, run.phase) if running else None
    return RunOut(
        id=run.id,
        experiment_id=run.experiment_id,
        seed=run.seed,
        state=run.state,
        attempt=run.attempt,
        resumed_from_step=run.resumed_from_step if run.started_attempt == run.attempt else None,
        outcome=run.outcome,
        progress=ProgressOut(step=run.step, max_steps=run.max_steps, eta_seconds=eta, phase=phase),
        result=_with_divergence(run.result),
        device=run.device,
        kernel=run.kernel,
        environment=run.environment,
        timing=run.timing,
        error=run.error,
        history=run.history,
        of_older_code=present.is_known and run.state == "succeeded" and run.code != present.code,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


def _with_divergence(result: dict[str, Any] | None) -> dict[str, Any] | None:
    """The result of a training; one that is older than this field has none."""
    return {**result, "divergence": result.get("divergence")} if result is not None and "metric" in result else result


def experiment_out(experiment: Experiment, present: PresentCode = UNKNOWN) -> ExperimentOut:
    return ExperimentOut(
        id=experiment.id,
        fingerprint=experiment.fingerprint,
        state=derived_state([(run.state, run.started_at is not None) for run in experiment.runs]),
        problem=experiment.problem,
        budget=experiment.budget,
        sweep_id=experiment.sweep_id,
        spec=experiment.spec,
        runs=[run_out(run, present) for run in experiment.runs],
        created_at=experiment.created_at,
    )


def submitted_out(experiment: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> ExperimentOut:
    """A new experiment, from the rows that are stored of it and its runs. Building ORM objects for them would cost
    more."""
    return ExperimentOut(**experiment, state="queued", runs=[_queued_run_out(run) for run in runs])


def _queued_run_out(run: Mapping[str, Any]) -> RunOut:
    progress = ProgressOut(step=run["step"], max_steps=run["max_steps"], eta_seconds=None, phase=None)
    return RunOut(**run, **UNKNOWN_YET, progress=progress)


def derived_state(runs: list[tuple[str, bool]]) -> State:
    """An experiment's state from its runs' states and whether each ever started."""
    states = {state for state, _ in runs}
    if states & {"queued", "running"}:
        return "running" if any(started for _, started in runs) else "queued"
    if "failed" in states:
        return "failed"
    return "cancelled" if "cancelled" in states else "succeeded"
