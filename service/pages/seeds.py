"""How many seeds it takes before anything is said of who is better, and where further ones are submitted."""

from dataclasses import dataclass
from typing import ClassVar

from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import Entry
from service.pages import formats
from service.pages.rendering import address

FEWEST = 3  # seeds of an entry, below which no order is told
BETTER = 5  # that a page asks for, where there are too few
TESTED = 2  # seeds of each of two entries, below which nothing compares them
NEEDED = f"{FEWEST} seeds each are the least that tells anything, {BETTER} are better"


@dataclass(frozen=True, slots=True)
class TooFew:
    """What is said of an entry in place of its rank.

    Attributes:
        needed: seeds that would be enough.
        seeds: that it has.
        more: where to submit those that it lacks; empty if no experiment is known to take the spec from.
    """

    needed: ClassVar[int] = FEWEST
    seeds: int
    more: str


def that_count(entry: Entry, rank_by: RankBy) -> int:
    """Of seconds those alone that were alone on their machine."""
    return entry.n_seeds - (entry.contended if rank_by == "seconds_to_target" else 0)


def too_few(entry: Entry, rank_by: RankBy = "metric") -> TooFew | None:
    """None of an entry that is ranked with reason, and of one that has no rank anyway."""
    if entry.source != "measured" or entry.tie_group is None:
        return None
    seeds = that_count(entry, rank_by)
    return TooFew(seeds, more_seeds(entry)) if seeds < FEWEST else None


def more_seeds(entry: Entry) -> str:
    """Where the seeds are submitted that an entry lacks."""
    return address("/submit", **{"from": entry.experiments[0], "seeds": BETTER}) if entry.experiments else ""


def counted(seeds: int) -> str:
    """So many of those that are needed: 1 of 3 seeds."""
    return f"{seeds} of {formats.count(FEWEST, 'seed')}"
