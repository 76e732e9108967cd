"""Words for entries that have too few seeds for a rank, and the link that submits more seeds."""

from dataclasses import dataclass
from typing import ClassVar

from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import Entry
from service.leaderboards.seeds import BETTER, FEWEST, that_count
from service.pages.rendering import address


@dataclass(frozen=True, slots=True)
class TooFew:
    """Text that stands in place of an entry's rank.

    Attributes:
        needed: number of seeds from which on an entry has a rank.
        seeds: number of seeds of the entry that count.
        more: address that submits the missing seeds; empty if no experiment is known that has the spec.
    """

    needed: ClassVar[int] = FEWEST
    seeds: int
    more: str


def too_few(entry: Entry, rank_by: RankBy = "metric") -> TooFew | None:
    """Text in place of the rank of an entry that has too few seeds; None for other entries."""
    return TooFew(that_count(entry, rank_by), more_seeds(entry)) if entry.too_few_seeds else None


def more_seeds(entry: Entry) -> str:
    """Address that submits the seeds that an entry lacks."""
    return address("/submit", **{"from": entry.experiments[0], "seeds": BETTER}) if entry.experiments else ""
