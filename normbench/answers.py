"""Types of the parts of the service's answers, and of answers that a notebook shows as they are.

The values are plain dictionaries; a newer service may add fields. Answers with methods are in ``shown_answers``.
"""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ENDED = frozenset({"succeeded", "failed", "cancelled"})
Kind = Literal["tasks", "methods", "datasets", "workers"]
TimeBy = Literal["steps_to_target", "seconds_to_target"]
RankBy = Literal["metric"] | TimeBy
Spec = dict[str, Any]


class Progress(TypedDict):
    """Progress of a run. ``eta_seconds`` is None until the pace is known. ``phase`` says what is evaluated; it is
    None while the model trains.
    """

    step: int
    max_steps: int
    eta_seconds: float | None
    phase: Literal["population statistics", "validation", "test"] | None


class HistoryEntry(TypedDict):
    """Entry of a run's history: when an attempt ended (ISO 8601, UTC) and why."""

    attempt: int
    at: str
    reason: str
    lost: bool


class Timing(TypedDict):
    """Seconds of a run by purpose. ``certificate`` tells if the run was alone on its machine."""

    training: float
    evaluation: float
    data: float
    compile: float
    warm_up: float
    certificate: dict[str, Any]


class Run(TypedDict):
    """Run: one seed of an experiment."""

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
    """Experiment in a list.

    ``name`` is the method with the options that differ from the profile, or with the cell of an analysis.
    ``n_diverged`` counts the runs that diverged; their state is ``succeeded``.
    """

    id: str
    fingerprint: str
    name: str | None
    state: State
    spec: Spec
    runs_by_state: dict[State, int]
    n_diverged: int
    created_at: str


class Memory(TypedDict):
    """Bytes of memory that a run needs at least, by purpose. On a GPU, ``process`` does not count."""

    weights: int
    gradients: int
    optimizer: int
    backward: int
    data: int
    process: int


class Problem(TypedDict):
    """Problem that the entries of a board share: the task's own options.

    ``note`` says why results do not compare with published results; None if they do.
    """

    id: str
    title: str
    options: dict[str, Any]
    note: str | None


class Provenance(TypedDict):
    """Origin of a submitted result: the address of a page about it, and its code and hardware."""

    source: str
    code: NotRequired[str | None]
    hardware: NotRequired[str | None]
    note: NotRequired[str | None]


class Estimate(TypedDict):
    """Mean of ``n`` values, with its 95% confidence interval, standard deviation and interquartile mean."""

    mean: float
    ci95: NotRequired[list[float] | None]
    std: NotRequired[float | None]
    iqm: NotRequired[float | None]
    n: NotRequired[int | None]


class TimeToTarget(TypedDict):
    """Time to a board's target: the median, and the mean of the times cut at ``tau``. ``reached`` counts the seeds."""

    median: float | None
    reached: int
    ci95: list[float | None] | None
    restricted_mean: float | None
    tau: float | None


class Speedup(TypedDict):
    """Time of the baseline to the target, divided by the entry's time. ``ci95`` is of the ratio that ranks."""

    baseline: str
    steps: float | None
    seconds: float | None
    ci95: list[float] | None
    bound: Literal["at least", "at most"] | None


class Entry(TypedDict):
    """Entry of a board: the results of a spec on this service, of a paper, or of a submitted result.

    ``score`` ranks: the mean over all seeds, in which a diverged seed has the value of a model that ignores its input.
    Entries of papers lack most of the values, and so their fields are None or 0.
    """

    rank: NotRequired[int | None]
    rank_ci: NotRequired[list[int] | None]
    tie_group: NotRequired[int | None]
    method: str | None
    name: NotRequired[str]
    source: Literal["measured", "published", "submitted"]
    split: NotRequired[Literal["test", "valid"]]
    fingerprint: NotRequired[str | None]
    result_id: NotRequired[str | None]
    state: NotRequired[Literal["claimed", "confirmed", "disputed"] | None]
    provenance: NotRequired[Provenance | None]
    citation: NotRequired[str | None]
    model: NotRequired[str | None]
    origin: NotRequired[str | None]
    note: NotRequired[str | None]
    budget: NotRequired[int | None]
    over_budget: NotRequired[bool]
    changes: NotRequired[dict[str, Any]]
    kernel: NotRequired[str | None]
    hardware: NotRequired[str | None]
    code: NotRequired[str | None]
    n_runs: NotRequired[int]
    n_older: NotRequired[int]
    of_older_code: NotRequired[bool]
    older_parts: NotRequired[list[str]]
    n_seeds: NotRequired[int]
    n_diverged: NotRequired[int]
    diverged_ci95: NotRequired[list[float] | None]
    score: float | None
    value: Estimate | None
    valid_value: NotRequired[float | None]
    gap: NotRequired[bool]
    values: NotRequired[dict[str, Estimate]]
    too_few_seeds: NotRequired[bool]
    conflicting_seeds: NotRequired[list[int]]
    contended: NotRequired[int]
    best_of: NotRequired[int]
    steps_to_target: NotRequired[TimeToTarget | None]
    seconds_to_target: NotRequired[TimeToTarget | None]
    speedup: NotRequired[Speedup | None]
    experiments: NotRequired[list[str]]


class Verdict(TypedDict):
    """Verdict on a board or a sweep, in words: a claim, and the evidence for it (``detail``)."""

    claim: str
    detail: str


class SweepProgress(TypedDict):
    """Progress of a sweep: ``done`` of ``total`` runs have ended. ``eta_seconds`` is None until their pace is known."""

    done: int
    total: int
    eta_seconds: float | None


class SweepCell(TypedDict):
    """Cell of a sweep: one combination of values. ``entry`` is its entry on a board, None before a run succeeds.

    ``rank``, ``rank_ci`` and ``tie_group`` are its place among the cells of the sweep; None if it has no place.
    """

    values: dict[str, Any]
    experiment_id: str
    fingerprint: str
    state: State
    seeds: list[int]
    reused_runs: int
    entry: Entry | None
    rank: int | None
    rank_ci: list[int] | None
    tie_group: int | None


class SweptTask(TypedDict):
    name: str
    profile: str


class SweepSummary(TypedDict):
    """Sweep in a list. ``n_runs`` includes the runs that are reused."""

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


class BudgetFlip(TypedDict):
    """Change in the order of two methods: from ``k`` tried cells on, ``better`` is better than ``worse``.

    ``is_uncertain`` is True if few choices of ``k`` cells are left.
    """

    better: str
    worse: str
    k: int
    is_uncertain: bool


class FieldImportance(TypedDict):
    """Importance of a field: the share of the variance that the forest loses if this field is shuffled."""

    field: str
    importance: float


class Importance(TypedDict):
    """Importance of a sweep's fields. ``explained`` is the share of the variance that the forest explains out of bag,
    None without a forest. ``note`` says why there are no numbers, or why they say nothing.
    """

    n_cells: int
    explained: float | None
    fields: list[FieldImportance]
    note: str | None


class Recipe(TypedDict):
    """Recipe to run an experiment again. ``runs`` has the recipe of each run."""

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
    """Series in which a run and its replay differ.

    ``from_step`` is the first step at which they differ; ``then`` and ``now`` are the two values there, None if a run
    has no value. ``largest`` is the largest difference, None if no step has two values. ``differing`` of ``points``
    points differ.
    """

    series: str
    from_step: float
    then: float | None
    now: float | None
    largest: float | None
    differing: int
    points: int


class ReplayChange(TypedDict):
    """Difference of code, packages, data or machine between a run and its replay."""

    what: str
    then: Any
    now: Any


class ReplayComparison(TypedDict):
    """Comparison of a run with its replay. ``identical`` is True if all their numbers are the same, bit for bit."""

    run_id: str
    again: str
    seed: int
    identical: bool
    series: int
    points: int
    deviations: Sequence[Deviation]
    changed: Sequence[ReplayChange]


class Series(TypedDict):
    """Curve of a run. A point is a step, a value and the training seconds so far."""

    unit: str
    direction: Literal["maximize", "minimize"] | None
    points: list[list[float]]  # step, value, training seconds


class Artifact(TypedDict):
    """File of a run. ``size`` is in bytes."""

    name: str
    size: int
    url: str


class SetAside(TypedDict):
    """Number of entries that a board leaves out, because they are of an older task, model, optimizer or method.

    ``detail`` says so in words.
    """

    n_entries: int
    detail: str


class LeaderboardSummary(TypedDict):
    """Summary of a board: ``n_entries`` entries of this service's runs, ``n_claims`` results measured elsewhere."""

    task: str
    profile: str
    problem: Problem
    n_entries: int
    n_runs: int
    n_claims: int


class LeftOut(TypedDict):
    """Task that does not count in the overall leaderboard, and the reason."""

    task: str
    reason: Literal["no target", "no entries", "target not reached"]


ResultState = Literal["claimed", "confirmed", "disputed", "withdrawn"]


class SubmittedResult(TypedDict):
    """Result that was measured elsewhere. ``difference`` compares it with the fresh seeds that this service trained."""

    id: str
    fingerprint: str
    name: str | None
    state: ResultState
    problem: str
    budget: int
    metric: str
    spec: Spec
    values: list[dict[str, Any]]
    value: Estimate
    fresh_seeds: list[int]
    difference: dict[str, Any] | None
    provenance: Provenance
    created_at: str
    withdrawn_at: str | None


class Work(TypedDict):
    """Bibliographic data of a paper, a data set or a program. A field is None if it does not apply."""

    title: str
    authors: NotRequired[list[str]]
    organization: NotRequired[str | None]
    year: int | None
    arxiv: NotRequired[str | None]
    journal: NotRequired[str | None]
    volume: NotRequired[str | None]
    number: NotRequired[str | None]
    pages: NotRequired[str | None]
    booktitle: NotRequired[str | None]
    doi: NotRequired[str | None]
    url: NotRequired[str | None]
    note: NotRequired[str | None]


class Citation(TypedDict):
    """Works to cite for a task, a method, a data set or an experiment; this software is the last of them.

    ``notes`` says what has no work to cite, and why. ``bibtex`` is a BibTeX file of the works.
    """

    name: str
    kind: Literal["task", "method", "data set", "experiment"]
    works: list[Work]
    notes: list[str]
    bibtex: str
