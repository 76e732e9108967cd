"""Standing of an entry on its board, for report cards and for pages of all boards.

Nothing is ranked here. Ranks and tie groups are those of the board's answer.
"""

from dataclasses import dataclass

from service.leaderboards.schemas import Entry, Leaderboard


@dataclass(frozen=True, slots=True)
class Standing:
    """Standing of an entry on its board.

    Attributes:
        rank: the entry's rank on the board; None if it is not ranked, or if all of its runs diverged.
        shared_rank: the first rank of the entry's tie group, which all entries of the group share.
        tied_with: names of the other entries of the tie group that have enough seeds to be ranked.
    """

    rank: int | None
    shared_rank: int | None
    tied_with: list[str]


def standing_of(board: Leaderboard, entry: Entry) -> Standing:
    """Look up the standing of an entry on this board."""
    if entry.score is None or entry.rank is None:
        return Standing(None, None, [])
    if entry.tie_group is None or entry.too_few_seeds:
        return Standing(entry.rank, entry.rank, [])
    of_group = [one for one in board.entries if one.tie_group == entry.tie_group and one.rank is not None]
    enough = [one for one in of_group if not one.too_few_seeds]
    first = min(one.rank for one in enough if one.rank is not None)
    return Standing(entry.rank, first, [one.name for one in enough if one is not entry])
