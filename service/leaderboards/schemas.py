"""What a leaderboard shows. Entries are plain dataclasses: there are thousands, and they come from our own rows."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from service.leaderboards.ranking import Center, RankBy, Speedup, TimeToTarget


@dataclass(slots=True, kw_only=True)
class Entry:
    """All succeeded runs that share a fingerprint, or a paper's number, which has a mean only."""

    rank: int = 0
    method: str
    source: Literal["measured", "published"]
    fingerprint: str | None = None
    citation: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    n_runs: int = 0
    n_seeds: int = 0
    n_diverged: int = 0
    value: Center | None
    steps_to_target: TimeToTarget | None = None
    seconds_to_target: TimeToTarget | None = None
    speedup: Speedup | None = None
    experiments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Leaderboard:
    """One task at one size, best first."""

    task: str
    profile: str
    metric: str
    unit: str
    direction: Literal["maximize", "minimize"]
    target: float | None
    rank_by: RankBy
    baseline: str
    entries: list[Entry]


LEADERBOARD = TypeAdapter(Leaderboard)


class LeaderboardSummary(BaseModel):
    """A task and profile that has entries."""

    task: str
    profile: str
    n_entries: int
    n_runs: int


class LeaderboardList(BaseModel):
    """All leaderboards there are, in one page."""

    items: list[LeaderboardSummary]
    next_cursor: None = None
