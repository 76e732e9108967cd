"""Words for entries that have too few seeds for a rank, and the link that submits more seeds."""

from dataclasses import dataclass
from typing import ClassVar

from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import Entry
from service.leaderboards.seeds import BETTER, FEWEST, has_too_few, that_count
from service.pages.rendering import address


@dataclass(frozen=True, slots=True)
class TooFew:
    """Text that stands in place of an entry's rank.

    Attributes:
        needed: seeds that would be enough.
        seeds: that it has.
        more: where to submit those that it lacks; empty if no experiment is known to take the spec from.
    """

    needed: ClassVar[int] = FEWEST
    seeds: int
    more: str


def too_few(entry: Entry, rank_by: RankBy = "metric") -> TooFew | None:
    """Text in place of the rank; None for an entry that has a rank, or that gets none anyway."""
    return TooFew(that_count(entry, rank_by), more_seeds(entry)) if has_too_few(entry, rank_by) else None


def more_seeds(entry: Entry) -> str:
    """Address that submits the seeds that an entry lacks."""
    return address("/submit", **{"from": entry.experiments[0], "seeds": BETTER}) if entry.experiments else ""
