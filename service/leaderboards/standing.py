"""Standing of an entry on its board, for report cards and for pages of all boards.

Nothing is ranked here. Ranks and tie groups are those of the board's answer.
"""

from dataclasses import dataclass

from service.leaderboards.schemas import Entry, Leaderboard
from service.leaderboards.seeds import has_too_few


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry's place.

    Attributes:
        rank: the board's own; None of an entry that is not ranked, and of one whose runs all diverged.
        shared_rank: the first rank of its tie group, which all of the group share.
        tied_with: names of the others of its group that have seeds enough to be ranked.
    """

    rank: int | None
    shared_rank: int | None
    tied_with: list[str]


def standing_of(board: Leaderboard, entry: Entry) -> Standing:
    """The place of an entry of this board."""
    if entry.score is None or entry.rank is None:
        return Standing(None, None, [])
    if entry.tie_group is None or has_too_few(entry, board.rank_by):
        return Standing(entry.rank, entry.rank, [])
    of_group = [one for one in board.entries if one.tie_group == entry.tie_group and one.rank is not None]
    enough = [one for one in of_group if not has_too_few(one, board.rank_by)]
    first = min(one.rank for one in enough if one.rank is not None)
    return Standing(entry.rank, first, [one.name for one in enough if one is not entry])
