"""What a leaderboard shows. Entries are plain dataclasses: there are thousands, and they come from our own rows."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from service.leaderboards.ranking import Center, RankBy, Speedup, TimeToTarget


@dataclass(slots=True, kw_only=True)
class Entry:
    """All succeeded runs that share a fingerprint, or a paper's number, which has a mean only.

    Attributes:
        rank: None if it had more than the board's budget; a paper's number is ranked among the measured ones, and moves
            none of them. One of validation data has no rank, nor has one without the board's metric.
        split: the data that a paper's numbers are of; ours are of the test data.
        method: None for a paper's number of a model that no method of ours describes.
        citation, model: where the number stands, and what the paper calls its model.
        origin: the work that the paper quotes the number from; None if the number is its own.
        note: what else to know of a paper's number.
        budget: examples that a training may see.
        kernel: the implementation that its runs had, ``reference`` or ``fused``; ``mixed`` if they differ, which its
            seconds then are, too. None for a paper's number.
        values: all of the task's metrics, of a paper's model those that it gives.
    """

    rank: int | None = None
    method: str | None
    source: Literal["measured", "published"]
    split: Literal["test", "valid"] = "test"
    fingerprint: str | None = None
    citation: str | None = None
    model: str | None = None
    origin: str | None = None
    note: str | None = None
    budget: int | None = None
    over_budget: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    kernel: str | None = None
    n_runs: int = 0
    n_seeds: int = 0
    n_diverged: int = 0
    value: Center | None
    values: dict[str, Center] = field(default_factory=dict)
    steps_to_target: TimeToTarget | None = None
    seconds_to_target: TimeToTarget | None = None
    speedup: Speedup | None = None
    experiments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Problem:
    """What the entries of a board have in common: the task's own options, and its data.

    Attributes:
        note: why its results compare with nothing published, if its data is a part of a data set.
    """

    id: str
    title: str
    options: dict[str, Any]
    note: str | None


@dataclass(slots=True)
class Leaderboard:
    """One problem of a task at one size, best first.

    Attributes:
        problems: all that have a board here, the profile's own first.
        budget: examples that a training may see to be ranked.
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
    rank_by: RankBy
    baseline: str
    entries: list[Entry]


LEADERBOARD = TypeAdapter(Leaderboard)


class LeaderboardSummary(BaseModel):
    """A board that has entries."""

    task: str
    profile: str
    problem: Problem
    n_entries: int
    n_runs: int


class LeaderboardList(BaseModel):
    """All leaderboards there are, in one page."""

    items: list[LeaderboardSummary]
    next_cursor: None = None
