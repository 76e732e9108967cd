"""Answer types of leaderboards. Entries are plain dataclasses: there are thousands, and they come from our own rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from normcore.spec import names
from service.leaderboards.entry import Estimate
from service.leaderboards.ranking import RankBy, TimeBy
from service.leaderboards.submitted_results.schemas import Provenance
from service.statistics.agreement import ClaimVerdict
from service.statistics.values import Interval


@dataclass(slots=True)
class TimeToTarget:
    """Times to the target over the seeds. A seed that never reached it took longer than the time it was watched.

    Attributes:
        median: median time; None if it is not known, because too few seeds reached the target.
        reached: number of seeds that reached the target.
        ci95: confidence interval of the median; an upper limit of None is not known.
        restricted_mean: mean of the times, each cut at ``tau``. All entries of a board have the same ``tau``.
    """

    median: float | None
    reached: int
    ci95: tuple[float, float | None] | None
    restricted_mean: float | None
    tau: float | None


@dataclass(slots=True)
class Speedup:
    """Speed-up to the target: the baseline's time divided by the entry's, as geometric means over the seeds.

    Attributes:
        baseline: name of the baseline's method.
        steps: speed-up in steps.
        seconds: speed-up in seconds, if both ran on one hardware with one kernel. Only runs that were alone on their
            machine count.
        ci95: confidence interval of ``seconds`` on a board by seconds, else of ``steps``.
        bound: whether the ratios are only bounds, because a seed missed the target; None if they are exact.
    """

    baseline: str
    steps: float | None
    seconds: float | None
    ci95: Interval | None
    bound: Literal["at least", "at most"] | None


@dataclass(slots=True, kw_only=True)
class Entry:
    """Entry of a board: all succeeded runs that share a fingerprint, or a number of a paper (only a mean), or a
    submitted result (with the values of its seeds).

    Attributes:
        rank: None for four kinds of entries: those with more than the board's budget, those on other hardware (on a
            board by seconds), those whose numbers are of validation data, and those without the board's metric.
            Papers' numbers and submitted results get the rank that they would have; the ranks of measured entries do
            not change.
        rank_ci: lowest and highest rank that the entry may truly have, 95% for all entries of the board at once.
        tie_group: number of the entry's tie group. The first entry of a group is surely better than the first entry of
            the next group. No entry of a group is surely worse than the group's first.
        split: the data that the numbers are of, test or validation data; measured numbers are of test data.
        method: None for a paper's number of a model that no method of this service describes.
        name: the method with every option in which the spec differs from the profile. For a paper: the model and the
            citation. For a submitted result: also its state. All measured entries of a board have different names.
        result_id, state, provenance: known for a submitted result only; its state is ``claimed`` until runs of this
            service agree.
        citation, model: where a paper's number stands, and the paper's name of the model.
        origin: the work from which the paper quotes the number; None if the number is the paper's own.
        note: remark on a paper's number.
        budget: number of examples that a training may see.
        kernel: implementation that the runs used, ``reference`` or ``fused``; ``mixed`` if the runs differ, so that
            their seconds do not compare. None for a paper's number.
        hardware: hardware on which the entry's seconds were spent.
        diverged_ci95: confidence interval of the share of seeds that diverge.
        score: the number that ranks: the mean over all seeds. A seed that diverged has the value of a model that
            ignores its input, and no other seed counts as worse than this value. None if all seeds diverged.
        gap: whether the values of the seeds fall into two groups: some seeds did not take off, and no interval of the
            mean holds for such values.
        valid_value: the mean validation value of the seeds, which chooses among settings; None if all seeds diverged.
        values: values of all of the task's metrics; for a paper, of the metrics that it reports.
        conflicting_seeds: seeds for which the same machine gave different numbers.
        too_few_seeds: whether the entry has too few seeds for a rank of its own. Pages and command line show none;
            ``rank`` is the rank that its score would have.
        contended: number of seeds that ran while something else kept their machine busy; their seconds do not count.
        code: digest of the code of the spec's own parts, common to all runs of the entry; None if the runs did not
            record it.
        n_older: number of succeeded runs of older code. They do not count here; ``code=all`` shows them.
        of_older_code: whether the board sets the entry aside, because it has newer code; such an entry has no rank.
        older_parts: the parts of the entry's spec for which the board has newer code: ``task``, ``model``,
            ``optimizer``, ``norm``.
        best_of: number of entries of this method from which this one was chosen, by validation value.
    """

    rank: int | None = None
    rank_ci: tuple[int, int] | None = None
    tie_group: int | None = None
    method: str | None
    name: str = ""
    source: Literal["measured", "published", "submitted"]
    split: Literal["test", "valid"] = "test"
    fingerprint: str | None = None
    result_id: str | None = None
    state: ClaimVerdict | None = None
    provenance: Provenance | None = None
    citation: str | None = None
    model: str | None = None
    origin: str | None = None
    note: str | None = None
    budget: int | None = None
    over_budget: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    kernel: str | None = None
    hardware: str | None = None
    code: str | None = None
    n_runs: int = 0
    n_older: int = 0
    of_older_code: bool = False
    older_parts: list[str] = field(default_factory=list)
    n_seeds: int = 0
    n_diverged: int = 0
    diverged_ci95: Interval | None = None
    score: float | None
    value: Estimate | None
    valid_value: float | None = None
    gap: bool = False
    values: Mapping[str, Estimate] = field(default_factory=dict)
    too_few_seeds: bool = False
    conflicting_seeds: list[int] = field(default_factory=list)
    contended: int = 0
    best_of: int = 1
    steps_to_target: TimeToTarget | None = None
    seconds_to_target: TimeToTarget | None = None
    speedup: Speedup | None = None
    experiments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = self.name or _name(self)


def _name(entry: Entry) -> str:
    if entry.source == "published":
        return f"{entry.model or entry.method} ({entry.citation})"
    own = names.name(entry.method or "", entry.changes)
    return f"{own}, {entry.state}" if entry.source == "submitted" else own


@dataclass(slots=True)
class Problem:
    """Problem that the entries of a board share: the task's own options, and its data.

    Attributes:
        note: why results on this problem do not compare with published results, if the data is only a part of a data
            set; else None.
    """

    id: str
    title: str
    options: dict[str, Any]
    note: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on a board, in words: a claim, and the evidence for it (``detail``)."""

    claim: str
    detail: str


@dataclass(frozen=True, slots=True)
class SetAside:
    """Entries that a board leaves out, because it has newer code of a part that they share with other entries.

    Attributes:
        detail: sentence that tells how many entries have older code of which part.
    """

    n_entries: int
    detail: str


@dataclass(slots=True)
class Leaderboard:
    """Board of one problem of a task at one profile, the best entry first.

    Attributes:
        problems: all problems of the task and profile that have a board, the profile's own first.
        budget: number of examples that a ranked training may see.
        hardware: hardware on which most entries ran; a board by seconds ranks only these entries.
        as_of: the moment at which the board is shown; None for now.
        set_aside: entries with older code of the task, model, optimizer or method; None if there are no such entries.
        verdict: which of the shown entries wins, and how sure that is; None if there is no entry.
    """

    task: str
    profile: str
    problem: Problem
    problems: list[Problem]
    metric: str
    unit: str
    direction: Literal["maximize", "minimize"]
    target: float | None
    budget: int
    hardware: str | None
    rank_by: RankBy
    baseline: str
    as_of: datetime | None
    entries: list[Entry]
    set_aside: SetAside | None = None
    verdict: Verdict | None = None


LEADERBOARD = TypeAdapter(Leaderboard)


@dataclass(slots=True)
class RankedTask:
    """A task with a target that at least one method has reached.

    Attributes:
        least: the median time of the fastest method.
        hardware: hardware on which the seconds were spent; null on a board by steps.
    """

    task: str
    target: float
    least: float
    hardware: str | None


@dataclass(slots=True)
class LeftOut:
    """A task that does not count in the overall board, and the reason."""

    task: str
    reason: Literal["no target", "no entries", "target not reached"]


@dataclass(slots=True)
class MethodProfile:
    """Performance profile of a method: how often the method is within a factor of the fastest method.

    Attributes:
        rank: 1 + the number of methods with a larger area.
        area: area under the profile from a factor of 1 to 4, scaled: 1 for a method that is the fastest on all tasks.
        fastest: number of tasks on which the method is the fastest.
        times: the method's median time to each task's target; null if the method does not reach the target in half of
            its seeds, or has no entry.
        ratios: each of these times divided by the fastest method's; null where the time is null.
        profile: pairs of a factor and the share of the tasks on which the method is within this factor.
        untried: tasks on which the method has no entry.
    """

    rank: int
    method: str
    area: float
    fastest: int
    times: dict[str, float | None]
    ratios: dict[str, float | None]
    profile: list[tuple[float, float]]
    untried: list[str]


@dataclass(slots=True)
class Overall:
    """Overall board: methods over all tasks at one profile, by the times of their default specs.

    Attributes:
        widest: largest factor that counts: a slower method gains nothing on the task.
        caution: sentence that says what not to conclude.
        flips: pairs of methods whose order changes if the two are compared without other methods.
    """

    profile: str
    rank_by: TimeBy
    widest: float
    tasks: list[RankedTask]
    left_out: list[LeftOut]
    methods: list[MethodProfile]
    caution: str
    flips: list[tuple[str, str]]


OVERALL = TypeAdapter(Overall)


class LeaderboardSummary(BaseModel):
    """Summary of a board: ``n_entries`` entries of this service's runs, ``n_claims`` results measured elsewhere."""

    task: str
    profile: str
    problem: Problem
    n_entries: int
    n_runs: int
    n_claims: int


class LeaderboardList(BaseModel):
    """All leaderboards, in one page."""

    items: list[LeaderboardSummary]
    next_cursor: None = None
