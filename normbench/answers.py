"""Types of the service's answers. The values are plain dictionaries; a newer service may put more into them."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ENDED = frozenset({"succeeded", "failed", "cancelled"})
Kind = Literal["tasks", "methods", "datasets", "workers"]
RankBy = Literal["metric", "steps_to_target", "seconds_to_target"]
Spec = dict[str, Any]


class Progress(TypedDict):
    """Progress of a run; ``eta_seconds`` is None until its pace is known, ``phase`` between evaluations."""

    step: int
    max_steps: int
    eta_seconds: float | None
    phase: Literal["population statistics", "validation", "test"] | None


class HistoryEntry(TypedDict):
    """Something that befell an attempt: when (ISO 8601, UTC) and why."""

    attempt: int
    at: str
    reason: str
    lost: bool


class Timing(TypedDict):
    """Seconds of a training by purpose; ``certificate`` tells if it was alone on its machine."""

    training: float
    evaluation: float
    data: float
    compile: float
    warm_up: float
    certificate: dict[str, Any]


class Run(TypedDict):
    """One seed of an experiment."""

    id: str
    experiment_id: str
    seed: int
    state: State
    attempt: int
    resumed_from_step: int | None
    outcome: Literal["completed", "reached_target", "diverged"] | None
    progress: Progress
    result: dict[str, Any] | None
    device: str | None
    kernel: str | None
    environment: dict[str, Any] | None
    timing: Timing | None
    error: str | None
    history: list[HistoryEntry]
    of_older_code: bool
    created_at: str
    started_at: str | None
    finished_at: str | None


class ExperimentSummary(TypedDict):
    """An experiment as a list shows it; ``name`` is its method with what differs from the profile."""

    id: str
    fingerprint: str
    name: str | None
    state: State
    spec: Spec
    runs_by_state: dict[State, int]
    created_at: str


class Experiment(TypedDict):
    """An experiment with its runs, in the order of its seeds; ``sweep_id`` is None of one that is of no sweep, ``name``
    is its method with what differs from the profile. ``problem`` and ``budget`` are those of its board, None of an
    analysis."""

    id: str
    fingerprint: str
    name: str | None
    state: State
    problem: str | None
    budget: int | None
    sweep_id: str | None
    spec: Spec
    runs: list[Run]
    created_at: str


class Plan(TypedDict):
    """Plan of an experiment: what submitting a spec would do. ``basis`` names the source of the seconds, None if
    nothing is known.

    ``code`` is the code of the API's machine, with the live workers that have other code. ``memory_bytes`` is what
    a run needs at least, ``memory`` the same by what it is for, ``worker_memory_bytes`` the most that a live worker
    gives it; None if that is not known.
    """

    spec: Spec
    fingerprint: str
    name: str | None
    runs: int
    code: dict[str, Any]
    measured_seeds: list[int]
    seconds_per_run: float | None
    total_seconds: float | None
    total_seconds_range: list[float] | None
    basis: str | None
    queue_position: int
    memory_bytes: int | None
    memory: dict[str, int] | None
    worker_memory_bytes: int | None


class SweepProgress(TypedDict):
    """Runs that have ended, and all of them; ``eta_seconds`` is None until their pace is known."""

    done: int
    total: int
    eta_seconds: float | None


class SweepCell(TypedDict):
    """A combination of values; ``entry`` is that of its board, None until a run has succeeded."""

    values: dict[str, Any]
    experiment_id: str
    fingerprint: str
    state: State
    seeds: list[int]
    reused_runs: int
    entry: dict[str, Any] | None


class SweptTask(TypedDict):
    name: str
    profile: str


class SweepSummary(TypedDict):
    """A sweep as a list shows it; ``n_runs`` counts those that were reused, too."""

    id: str
    state: State
    tasks: list[SweptTask]
    n_experiments: int
    n_runs: int
    reused_runs: int
    n_diverged: int
    progress: SweepProgress
    spec: Spec
    grid: dict[str, list[Any]]
    random: dict[str, dict[str, list[Any]]]
    samples: int | None
    sampler_seed: int
    reuse: bool
    adaptive: bool
    created_at: str


class Sweep(SweepSummary):
    """A sweep with its cells. ``budget_curve`` has for each method [k, mean, low, high]: the test value of the best of
    k of its cells, chosen by validation; ``budget_flips`` says where two methods' curves cross. ``metric``, ``unit``
    and ``direction`` are None if its cells do not compare."""

    metric: str | None
    unit: str | None
    direction: Literal["maximize", "minimize"] | None
    cells: list[SweepCell]
    best: SweepCell | None
    budget_curve: dict[str, list[list[float]]]
    budget_flips: list[dict[str, Any]]


class SweepPlan(TypedDict):
    """Plan of a sweep: what submitting it would do. ``total_seconds`` and ``basis`` are None if nothing is known."""

    n_experiments: int
    n_runs: int
    most_runs: int
    reused_runs: int
    total_seconds: float | None
    basis: str | None
    queue_position: int
    cells: list[dict[str, Any]]


class Recipe(TypedDict):
    """Recipe that runs an experiment again; that of each run is under ``runs``."""

    experiment_id: str
    fingerprint: str
    spec: Spec
    code: dict[str, str]
    packages: dict[str, str]
    plug_ins: dict[str, str]
    machine: dict[str, str]
    data: dict[str, str]
    runs: list[dict[str, Any]]


class Deviation(TypedDict):
    """A series in which a repeated run differs: from which step on, by how much at most, and at how many points.

    ``then`` and ``now`` are the values at that step, None where there is none; ``largest`` is None if no step has two.
    """

    series: str
    from_step: float
    then: float | None
    now: float | None
    largest: float | None
    differing: int
    points: int


class Changed(TypedDict):
    """Something about code, packages, data or machine that two runs do not have in common."""

    what: str
    then: Any
    now: Any


class Replayed(TypedDict):
    """A run beside the one that repeated it: whether all that they measured is identical, bit for bit."""

    run_id: str
    again: str
    seed: int
    identical: bool
    series: int
    points: int
    deviations: Sequence[Deviation]
    changed: Sequence[Changed]


class Series(TypedDict):
    """A curve; a point is step, value and the training seconds so far."""

    unit: str
    direction: Literal["maximize", "minimize"] | None
    points: list[list[float]]  # step, value, training seconds


class Artifact(TypedDict):
    """A file of a run; ``size`` in bytes."""

    name: str
    size: int
    url: str


class Leaderboard(TypedDict):
    """One problem of a task at one size, best entry first; ``verdict`` has who wins in words: ``claim``, ``detail``.

    ``set_aside`` counts the entries of an older task, model, optimizer or method; its ``detail`` says it in words.
    """

    task: str
    profile: str
    problem: dict[str, Any]
    problems: list[dict[str, Any]]
    metric: str
    unit: str
    direction: Literal["maximize", "minimize"]
    target: float | None
    budget: int
    hardware: str | None
    rank_by: RankBy
    baseline: str
    as_of: str | None
    entries: list[dict[str, Any]]
    set_aside: dict[str, Any] | None
    verdict: dict[str, str] | None


class Overall(TypedDict):
    """Methods over all tasks at one size, the largest area first; ``caution`` says what not to conclude."""

    profile: str
    rank_by: RankBy
    widest: float
    tasks: list[dict[str, Any]]
    left_out: list[dict[str, str]]
    methods: list[dict[str, Any]]
    caution: str
    flips: list[list[str]]


ResultState = Literal["claimed", "confirmed", "disputed", "withdrawn"]


class SubmittedResult(TypedDict):
    """A result that was measured elsewhere; ``difference`` is from the seeds that this service measured besides."""

    id: str
    fingerprint: str
    name: str | None
    state: ResultState
    problem: str
    budget: int
    metric: str
    spec: Spec
    values: list[dict[str, Any]]
    value: dict[str, Any]
    fresh_seeds: list[int]
    difference: dict[str, Any] | None
    provenance: dict[str, str | None]
    created_at: str
    withdrawn_at: str | None


class Comparison(TypedDict):
    """Entries of one board side by side; ``baseline`` is the fingerprint of the one that others are compared with. An
    entry stands among these by ``score``, ``n_diverged``, ``over_budget``, ``rank``, ``rank_ci``, ``tie_group`` and
    ``above`` (Holm's p by fingerprint), beside the baseline by ``outcome`` and its ``difference``'s ``p_holm``."""

    task: str
    profile: str
    problem: dict[str, Any]
    baseline: str
    series: str
    unit: str
    direction: Literal["maximize", "minimize"] | None
    target: float | None
    entries: list[dict[str, Any]]


class ReportCard(TypedDict):
    """Measurements of a method; ``missing`` are specs whose results would complete them."""

    method: str
    title: str
    citation: str
    invariances: dict[str, Any] | None
    cells: dict[str, dict[str, Any]]
    standings: list[dict[str, Any]]
    not_applicable: dict[str, str]
    missing: list[Spec]
    pending: list[str]
