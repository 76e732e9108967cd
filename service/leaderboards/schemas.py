"""What a leaderboard shows."""

from typing import Any, Literal

from pydantic import BaseModel

from service.leaderboards.ranking import RankBy


class Value(BaseModel):
    """Test metric over seeds; a published number has a mean only."""

    mean: float
    std: float | None = None
    ci95: tuple[float, float] | None = None


class TimeToTarget(BaseModel):
    """Median over seeds of when validation first reached the target, and how many seeds did."""

    median: float | None
    reached: int


class Speedup(BaseModel):
    """How many times sooner than the baseline the target is reached; null where either never is."""

    baseline: str
    steps: float | None
    seconds: float | None


class Entry(BaseModel):
    """All succeeded runs that share a fingerprint, or a paper's number."""

    rank: int
    method: str
    source: Literal["measured", "published"]
    fingerprint: str | None = None
    citation: str | None = None
    changes: dict[str, Any] = {}
    n_runs: int = 0
    n_seeds: int = 0
    n_diverged: int = 0
    value: Value | None
    steps_to_target: TimeToTarget | None = None
    seconds_to_target: TimeToTarget | None = None
    speedup: Speedup | None = None
    experiments: list[str] = []


class Leaderboard(BaseModel):
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
