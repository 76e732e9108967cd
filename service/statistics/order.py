"""Order of a board's entries: ranks, tie groups, and which entry is above (surely better than) which."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from normcore.spec.metric import Direction
from service.statistics.differences import Floats, Pairs, holm
from service.statistics.spread import gain

SURE = 0.05  # largest Holm-adjusted p-value at which two entries count as different

Key = tuple[float, ...]
"""Sort key of an entry: the smallest key is the best."""


class RankEstimate(NamedTuple):
    """Estimated rank of an entry.

    Attributes:
        rank: 1 + the number of entries with a better score.
        rank_ci: lowest and highest rank that the entry may truly have. The intervals of all entries of a board hold at
            once in 95% of cases (Mogstad et al. 2024). None without a score.
        tie_group: number of the entry's tie group. The first entry of a group is above the first entry of the next
            group. None without a score.
    """

    rank: int
    rank_ci: tuple[int, int] | None
    tie_group: int | None


class Board(NamedTuple):
    """Order of N entries: a rank for each entry, and arrays (N, N) for every two entries.

    Attributes:
        p_holm: Holm-adjusted p-values; NaN where a pair was not tested.
        above: whether the row's entry is surely better than the column's entry.
    """

    ranks: Sequence[RankEstimate]
    p_holm: Floats
    above: NDArray[np.bool_]


def board(keys: Sequence[Key | None], direction: Direction, compared: Pairs) -> Board:
    """Put entries in order.

    Args:
        keys: sort key of each entry; None for an entry without a score, because all of its seeds diverged. Of entries
            with equal keys, an entry that fewer others are above comes first in a tie group.
        direction: direction of the values that were compared.
        compared: differences of these entries, pair by pair.
    """
    ranks = _ranks(keys)
    p_holm = _adjust_p_values(compared.p_value)
    better = compared.mean > 0 if direction == "maximize" else compared.mean < 0
    with np.errstate(invalid="ignore"):
        above = (p_holm <= SURE) & better & (ranks[:, None] < ranks)  # the score must agree: it has diverged seeds
    scored = [k for k, key in enumerate(keys) if key is not None]
    best, worst = 1 + above.sum(axis=0), len(scored) - above[:, scored].sum(axis=1)
    groups = _tie_groups(sorted(scored, key=lambda k: (ranks[k], best[k], worst[k])), above)
    return Board(
        [
            RankEstimate(int(ranks[k]), (int(best[k]), int(worst[k])) if key is not None else None, groups.get(k))
            for k, key in enumerate(keys)
        ],
        p_holm,
        above,
    )


def _ranks(keys: Sequence[Key | None]) -> NDArray[np.int_]:
    """Rank of each entry: 1 + the number of entries with a better key. Entries without a key come last."""
    first: dict[Key, int] = {}
    ordered = sorted(key for key in keys if key is not None)
    for before, key in enumerate(ordered):
        first.setdefault(key, 1 + before)
    return np.array([1 + len(ordered) if key is None else first[key] for key in keys], dtype=int)


def _adjust_p_values(p_value: Floats) -> Floats:
    """Holm-adjusted p-values of all pairs, (N, N). A test counts once, though it is on both sides of the diagonal."""
    above_diagonal = np.triu(~np.isnan(p_value))
    adjusted = np.full_like(p_value, np.nan)
    adjusted[above_diagonal] = holm(p_value[above_diagonal])
    return np.fmin(adjusted, adjusted.T)


def _tie_groups(ranked: Sequence[int], above: NDArray[np.bool_]) -> dict[int, int]:
    groups: dict[int, int] = {}
    head, group = -1, 0
    for k in ranked:
        if group == 0 or above[head, k]:
            head, group = k, group + 1
        groups[k] = group
    return groups


def rank_beside(key: Key | None, keys: Sequence[Key | None]) -> int:
    """Rank of a published or claimed number: 1 + the number of measured entries that are better. Other ranks do not
    change.
    """
    return 1 + sum(other is not None and (key is None or other < key) for other in keys)


def key_of(score: float | None, direction: Direction) -> Key | None:
    """Sort key of a score; None without a score."""
    return None if score is None else (-gain(score, direction),)
