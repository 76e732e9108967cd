"""What a page says in place of a rank where seeds are too few, and where further ones are submitted."""

from dataclasses import dataclass
from typing import ClassVar

from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import Entry
from service.leaderboards.seeds import BETTER, FEWEST, has_too_few, that_count
from service.pages.rendering import address


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


def too_few(entry: Entry, rank_by: RankBy = "metric") -> TooFew | None:
    """None of an entry that is ranked with reason, and of one that has no rank anyway."""
    return TooFew(that_count(entry, rank_by), more_seeds(entry)) if has_too_few(entry, rank_by) else None


def more_seeds(entry: Entry) -> str:
    """Where the seeds are submitted that an entry lacks."""
    return address("/submit", **{"from": entry.experiments[0], "seeds": BETTER}) if entry.experiments else ""
