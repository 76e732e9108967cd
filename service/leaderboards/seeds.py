"""Numbers of seeds that verdicts need."""

from service import wording
from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import Entry

FEWEST = 3  # seeds that an entry needs to be ranked in a verdict
BETTER = 5  # seeds that a verdict recommends
TESTED = 2  # seeds that each of two entries needs for any test of their difference
NEEDED = f"{FEWEST} seeds each are the least that tells anything, {BETTER} are better"


def that_count(entry: Entry, rank_by: RankBy) -> int:
    """Number of an entry's seeds that count on a board. For seconds, only seeds alone on their machine count."""
    return entry.n_seeds - (entry.contended if rank_by == "seconds_to_target" else 0)


def are_too_few(n_seeds: int) -> bool:
    """Tell if an entry of so many seeds has no rank."""
    return n_seeds < FEWEST


def describe_seed_count(seeds: int) -> str:
    """Number of seeds, out of the seeds that are needed, in words: 1 of 3 seeds."""
    return f"{seeds} of {wording.count(FEWEST, 'seed')}"
