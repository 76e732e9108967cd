"""Answer types of leaderboards. Entries are plain dataclasses: there are thousands, and they come from our own rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from normcore.spec import names
from service.leaderboards.entry import Estimate
from service.leaderboards.ranking import RankBy, TimeBy
from service.leaderboards.submitted.schemas import Provenance
from service.statistics.agreement import Verdict as Judgement
from service.statistics.values import Interval


@dataclass(slots=True)
class TimeToTarget:
    """Over the seeds; one that never got there is known to take longer than it was watched.

    Attributes:
        median: None if it is not known to be reached.
        reached: how many did.
        ci95: of the median; a limit of None is not known.
        restricted_mean: of the times up to ``tau``, which is one for a board.
    """

    median: float | None
    reached: int
    ci95: tuple[float, float | None] | None
    restricted_mean: float | None
    tau: float | None


@dataclass(slots=True)
class Speedup:
    """Speed-up to the target over the baseline; geometric means over the seeds.

    Attributes:
        seconds: on one hardware with one kernel, of runs that were alone on their machine.
        ci95: of the seconds on a board by seconds, else of the steps.
        bound: whether a missed target makes the ratios bounds.
    """

    baseline: str
    steps: float | None
    seconds: float | None
    ci95: Interval | None
    bound: Literal["at least", "at most"] | None


@dataclass(slots=True, kw_only=True)
class Entry:
    """All succeeded runs that share a fingerprint; or a paper's number, which has a mean only; or a submitted result,
    which has the values of its seeds.

    Attributes:
        rank: None if it had more than the board's budget, and of a board by seconds if it ran on other hardware; a
            paper's number or a submitted result is ranked among the measured ones, and moves none of them. One of
            validation data has no rank, nor has one without the board's metric.
        rank_ci: the ranks that it may truly have, 95% for all entries of the board at once.
        tie_group: the first entry of a group is better than that of the next; those of one group cannot be told apart
            from its first.
        split: the data that a paper's numbers are of; ours are of the test data.
        method: None for a paper's number of a model that no method of ours describes.
        name: the method with every option in which the spec differs from the profile; of a paper its model and where
            the number stands, of a submitted result also its state. No two measured entries of a board share one.
        result_id, state, provenance: of a submitted result; it is claimed until runs of this service agree.
        citation, model: where the number stands, and what the paper calls its model.
        origin: the work that the paper quotes the number from; None if the number is its own.
        note: what else to know of a paper's number.
        budget: examples that a training may see.
        kernel: the implementation that its runs had, ``reference`` or ``fused``; ``mixed`` if they differ, which its
            seconds then are, too. None for a paper's number.
        hardware: that its seconds were spent on.
        diverged_ci95: of the share of seeds that diverge.
        score: what ranks: the mean over all seeds. A seed that diverged is worth what a model gets that ignores its
            input, and no other seed counts as worse than that. None if all diverged.
        gap: whether the values of the seeds fall into two groups: some seeds did not take off, and no interval of the
            mean holds for such values.
        valid_value: the mean validation value of the seeds, which chooses among settings; None if all diverged.
        values: all of the task's metrics, of a paper's model those that it gives.
        conflicting_seeds: of which one machine gave different numbers.
        contended: how many seeds ran while something else kept their machine busy; their seconds do not count.
        code: digest of the code of the spec's own parts that its runs have in common; None if they do not tell.
        n_older: succeeded runs of older code. They do not count here; ``code=all`` shows them.
        of_older_code: whether the board sets the entry aside, because it has newer code; such an entry has no rank.
        older_parts: the parts of its spec of which the board has newer code: ``task``, ``model``, ``optimizer``,
            ``norm``.
        best_of: of how many entries of its method it was chosen, by its validation value.
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
    state: Judgement | None = None
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
        note: why its results compare with nothing published, if its data is a part of a data set.
    """

    id: str
    title: str
    options: dict[str, Any]
    note: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a board, in words: a claim, and its evidence."""

    claim: str
    detail: str


@dataclass(frozen=True, slots=True)
class SetAside:
    """Entries that a board leaves out: of a part that they share with others it has newer code.

    Attributes:
        detail: how many there are of which part, in words.
    """

    n_entries: int
    detail: str


@dataclass(slots=True)
class Leaderboard:
    """One problem of a task at one size, best first.

    Attributes:
        problems: all that have a board here, the profile's own first.
        budget: examples that a training may see to be ranked.
        hardware: on which most entries ran; a board by seconds ranks these alone.
        as_of: the moment whose board it is; None for now.
        set_aside: entries of an older task, model, optimizer or method; None if there is none.
        verdict: who wins, and how sure that is, of the entries shown; None if there is no entry.
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
    """A task that somebody has reached the target of.

    Attributes:
        least: the median time of the fastest method.
        hardware: on which seconds were spent; null where updates are counted.
    """

    task: str
    target: float
    least: float
    hardware: str | None


@dataclass(slots=True)
class LeftOut:
    """A task that says nothing of any method, and why."""

    task: str
    reason: Literal["no target", "no entries", "target not reached"]


@dataclass(slots=True)
class MethodProfile:
    """Performance profile of a method: how often it is within a factor of the fastest.

    Attributes:
        rank: 1 + the methods with a larger area.
        area: beneath the profile from a factor of 1 to 4; 1 if it is the fastest of all tasks.
        fastest: tasks of which it is.
        times: its median to each task's target; null if it does not reach it in half of its seeds, or was not tried.
        ratios: to the fastest; null likewise.
        profile: factors, and the share of the tasks in which it is within them.
        untried: tasks of which it has no entry.
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
    """Methods over all tasks at one size, by the times of their default specs.

    Attributes:
        widest: the factor beyond which a method gains nothing.
        caution: what not to conclude.
        flips: pairs of methods that stand the other way round if they are held beside each other alone.
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
    """A board that has entries: ``n_entries`` of runs of this service, ``n_claims`` that were measured elsewhere."""

    task: str
    profile: str
    problem: Problem
    n_entries: int
    n_runs: int
    n_claims: int


class LeaderboardList(BaseModel):
    """All leaderboards there are, in one page."""

    items: list[LeaderboardSummary]
    next_cursor: None = None
