"""Answer types of experiments and runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import BaseModel, Field, computed_field

from normcore.events import Outcome, Phase
from normcore.spec.metric import Direction
from normcore.spec.names import differences, name_of_spec
from service.experiments.certificates import Certificate
from service.experiments.tables import Experiment, Run
from service.http.schemas import Code, ResolvedSpec, mark_type

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
UNKNOWN_YET: dict[str, Any] = dict.fromkeys(  # fields of a run that has not started
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
    Annotated[dict[str, Any], mark_type("AnyResult")] | None, Field(description="Null until the run has succeeded.")
]
Environment = Annotated[dict[str, Any], mark_type("Environment")]


class PresentCode(NamedTuple):
    """Code of the runs that count for a spec, see ``codes``.

    Attributes:
        is_known: whether any run of the spec has succeeded.
        code: digest of the code of the spec's own parts; None if those runs do not say.
    """

    is_known: bool
    code: str | None


UNKNOWN = PresentCode(False, None)


class ProgressOut(BaseModel):
    """Progress of a run."""

    step: int
    max_steps: int
    eta_seconds: float | None = Field(description="Seconds left; null until the run's pace is known.")
    phase: Phase | None = Field(description="Phase of the evaluation that is going on; null between evaluations.")


class HistoryEntry(BaseModel):
    """Something that went wrong in an attempt of a run."""

    attempt: int
    at: datetime
    reason: str
    lost: bool = Field(description="Whether the attempt broke off. A run that breaks off too often fails.")


class TimingOut(BaseModel):
    """Seconds of a training by purpose, in all attempts that led to its end, with a certificate."""

    training: float = Field(description="Updates alone. Curves and boards count these seconds.")
    evaluation: float = Field(description="Population statistics, validation and test.")
    data: float = Field(
        description="Reading the data set and drawing batches. A GPU computes while batches are drawn, so there only"
        " reading counts."
    )
    compile: float = Field(description="Building the model, and compiling or loading its kernels.")
    warm_up: float = Field(description="Passes before the first update that leave no trace in the model.")
    certificate: Certificate = Field(description="Whether the run was alone on its machine.")


class RunOut(BaseModel):
    """A run: one seed of an experiment."""

    id: str
    experiment_id: str
    seed: int
    state: State
    attempt: int
    resumed_from_step: int | None = Field(
        description="Step of the checkpoint from which this attempt resumed; null without one, or before it began."
    )
    outcome: Outcome | None
    progress: ProgressOut
    result: AnyResult
    device: str | None
    kernel: str | None = Field(
        description="The implementation that ran: `reference` or `fused`. `fused reference` if both ran: in one model,"
        " or one after the other because the run resumed on another worker."
    )
    environment: Environment | None = Field(
        description="Packages, hardware, code version and data checksums of the last attempt. `kernels` says what the"
        " fused kernels of all attempts were compiled for."
    )
    timing: TimingOut | None = Field(description="Seconds by purpose; null until a training has succeeded.")
    error: str | None
    history: list[HistoryEntry]
    of_older_code: bool = Field(
        description="Whether the run is set aside, because runs with newer code of the spec's own parts count."
    )
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class OfSpec(BaseModel):
    """Answer that has a spec."""

    spec: ResolvedSpec

    @computed_field(  # type: ignore[prop-decorator]
        description="The method with every option in which the spec differs from the profile, or with the cell of an"
        " analysis; null without a method."
    )
    @property
    def name(self) -> str | None:
        named, cell = name_of_spec(self.spec), differences(cell_of_analysis(self.spec))
        return f"{named} ({cell})" if named and cell else named


def cell_of_analysis(spec: Mapping[str, Any]) -> dict[str, str]:
    """Cell of a stored analysis, by its path. The result is empty for an analysis without a cell, and for a training,
    whose changes name the cell.
    """
    model = (spec.get("model") or {}) if spec.get("kind") == "analysis" else {}
    return {"model.cell": model["cell"]} if "cell" in model else {}


class ExperimentSummary(OfSpec):
    """An experiment in a list: how many of its runs are in each state, and how many diverged."""

    id: str
    fingerprint: str
    state: State
    runs_by_state: dict[State, int]
    n_diverged: int = Field(description="Runs that diverged; their state is `succeeded`.")
    created_at: datetime


class ExperimentOut(OfSpec):
    """An experiment with its runs, in the order of its seeds."""

    id: str
    fingerprint: str
    state: State
    problem: str | None = Field(
        description="What the experiment's board ranks, see `/v1/leaderboards`; null for an analysis."
    )
    budget: int | None = Field(description="Examples that each training may see; null for an analysis.")
    sweep_id: str | None = Field(description="The sweep of this experiment; null without a sweep.")
    runs: list[RunOut]
    created_at: datetime


class OtherCode(BaseModel):
    """A live worker that has other code than the API for the spec's own parts."""

    worker: str
    host: str
    pid: int
    device: str
    parts: list[str] = Field(description="Parts of the spec whose code differs there, or is missing.")


class CodeOut(Code):
    """Code that the API's machine has for a spec."""

    workers: list[OtherCode] = Field(description="Live workers that have other code for this spec.")


class MemoryOut(BaseModel):
    """Bytes of memory that a run needs at least, by purpose."""

    weights: int = Field(description="Parameters. A training keeps those of the best model so far, too.")
    gradients: int
    optimizer: int = Field(description="Optimizer state.")
    backward: int = Field(description="Values that a forward pass saves for the backward pass.")
    data: int = Field(description="The data set; 0 if its size in memory is not known.")
    process: int = Field(description="Python and torch. For a GPU they do not count: they are in the machine's memory.")


class PlanOut(OfSpec):
    """Plan of an experiment: the answer to a dry run."""

    fingerprint: str
    runs: int
    code: CodeOut
    measured_seeds: list[int] = Field(
        description="Seeds of this spec that were measured here with the present code of its own parts."
    )
    seconds_per_run: float | None = Field(
        description="Expected seconds of one run, evaluation included; null if unknown."
    )
    total_seconds: float | None = Field(description="Expected seconds of all runs, one after the other.")
    total_seconds_range: tuple[float, float] | None = Field(
        description="Seconds of all runs at the pace of the fastest and of the slowest run in `basis`."
    )
    basis: str | None = Field(description="Runs on this service that the estimate is based on; null without such runs.")
    queue_position: int = Field(description="Place of the first run in the queue; 1 is taken next.")
    memory_bytes: int | None = Field(
        description="Least memory that a run needs, by the sizes in the spec, on the live worker with most room for it;"
        " null if the model's cost is not known, or if an analysis does not say what it needs."
    )
    memory: MemoryOut | None = Field(description="Least memory by purpose, in bytes.")
    worker_memory_bytes: int | None = Field(
        description="Bytes that this worker gives a training; null if it does not say, or if there is no worker."
    )
    live_workers: int = Field(description="Live workers that take runs of this device, and have the kernels.")
    fitting_workers: int = Field(description="How many of them give a run enough memory, or do not say what they give.")


class RanWith(BaseModel):
    """Code, packages, machine and data with which runs were made; empty if no run has started."""

    code: dict[str, str] = Field(
        description="Version of normbench, commit of its source, and the digest of each of the spec's own parts."
    )
    packages: dict[str, str] = Field(description="Version of each package.")
    plug_ins: dict[str, str] = Field(description="Packages of the method, task or cell that are not part of normbench.")
    machine: dict[str, str] = Field(description="Hardware, threads, and the target of the fused kernels' compiler.")
    data: dict[str, str] = Field(description="SHA-256 of each data set.")


class ReplayRunOut(RanWith):
    """Code, packages, machine and data with which a run was made."""

    run_id: str
    seed: int
    state: State
    device: str | None
    kernel: str | None


class ReplayOut(RanWith):
    """Recipe of an experiment. Its code, packages, machine and data are those of the first run that has started."""

    experiment_id: str
    fingerprint: str
    spec: ResolvedSpec
    runs: list[ReplayRunOut]


class SeriesOut(BaseModel):
    """A curve of a run."""

    unit: str
    direction: Direction | None = Field(description="Null if neither direction is better.")
    points: list[tuple[int, float, float]] = Field(description="Step, value and training seconds.")


class MeasurementsOut(BaseModel):
    """All or some curves of a run, by name."""

    x: str = Field(description="Name of the x axis: `step` for a training; an analysis may have another.")
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


def estimate_seconds_left(state: str, step: int, max_steps: int, steps_per_second: float | None) -> float | None:
    """Estimate the seconds that a run still needs; None if it does not train, or its pace is not known."""
    return round((max_steps - step) / steps_per_second, 1) if state == "running" and steps_per_second else None


def run_out(run: Run, present: PresentCode = UNKNOWN) -> RunOut:
    """Show a run as the API does.

    Args:
        present: code of the runs of this spec that count.
    """
    running = run.state == "running"
    eta = estimate_seconds_left(run.state, run.step, run.max_steps, run.steps_per_second)
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
    """Add the field ``divergence`` to the result of a training that is older than this field."""
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
    """Show a new experiment, from the stored rows of the experiment and its runs. Building ORM objects would take more
    time.
    """
    return ExperimentOut(**experiment, state="queued", runs=[_queued_run_out(run) for run in runs])


def _queued_run_out(run: Mapping[str, Any]) -> RunOut:
    progress = ProgressOut(step=run["step"], max_steps=run["max_steps"], eta_seconds=None, phase=None)
    return RunOut(**run, **UNKNOWN_YET, progress=progress)


def derived_state(runs: list[tuple[str, bool]]) -> State:
    """Derive an experiment's state from its runs: the state of each run, and whether it ever started."""
    states = {state for state, _ in runs}
    if states & {"queued", "running"}:
        return "running" if any(started for _, started in runs) else "queued"
    if "failed" in states:
        return "failed"
    return "cancelled" if "cancelled" in states else "succeeded"
