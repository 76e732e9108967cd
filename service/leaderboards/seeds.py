"""Numbers of seeds that verdicts need."""

from service import wording
from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import Entry

FEWEST = 3  # seeds of an entry, below which no order is told
BETTER = 5  # that are asked for, where there are too few
TESTED = 2  # seeds of each of two entries, below which nothing compares them
NEEDED = f"{FEWEST} seeds each are the least that tells anything, {BETTER} are better"


def that_count(entry: Entry, rank_by: RankBy) -> int:
    """The seeds that count on a board. For seconds these are the seeds that were alone on their machine."""
    return entry.n_seeds - (entry.contended if rank_by == "seconds_to_target" else 0)


def has_too_few(entry: Entry, rank_by: RankBy = "metric") -> bool:
    """Tell if an entry is in a tie group, but has too few seeds for a rank."""
    return entry.source == "measured" and entry.tie_group is not None and that_count(entry, rank_by) < FEWEST


def counted(seeds: int) -> str:
    """The seeds of those that are needed: 1 of 3 seeds."""
    return f"{seeds} of {wording.count(FEWEST, 'seed')}"
