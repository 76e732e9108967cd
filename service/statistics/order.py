"""Order of a board's entries: which are above which, and which form a tie group."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from normcore.spec.metric import Direction
from service.statistics.differences import Floats, Pairs, holm
from service.statistics.spread import gain

SURE = 0.05  # Holm's p of a pair that is told apart

Key = tuple[float, ...]
"""What entries are put in order by: the least is the best."""


class Place(NamedTuple):
    """Place of an entry.

    Attributes:
        rank: 1 + the entries with a better score.
        rank_ci: the ranks that the entry may truly have: all of a board hold at once in 95% (Mogstad et al. 2024);
            None without a score.
        tie_group: the first entry of a group is above that of the next; None without a score.
    """

    rank: int
    rank_ci: tuple[int, int] | None
    tie_group: int | None


class Board(NamedTuple):
    """A place for each entry, and of each beside each, (N, N), what was found.

    Attributes:
        p_holm: NaN where nothing was tested.
        above: whether the row's entry is surely better than the column's.
    """

    places: Sequence[Place]
    p_holm: Floats
    above: NDArray[np.bool_]


def board(keys: Sequence[Key | None], direction: Direction, compared: Pairs) -> Board:
    """Put entries in order.

    Args:
        keys: of each entry; None of one that has no score, as all of its seeds diverged. Of equal ones those that
            fewer others are above come first in tie groups.
        direction: of what was compared.
        compared: these entries.
    """
    places = _ranks(keys)
    p_holm = _adjusted(compared.p_value)
    better = compared.mean > 0 if direction == "maximize" else compared.mean < 0
    with np.errstate(invalid="ignore"):
        above = (p_holm <= SURE) & better & (places[:, None] < places)  # by both: survivors of divergence win nothing
    scored = [k for k, key in enumerate(keys) if key is not None]
    best, worst = 1 + above.sum(axis=0), len(scored) - above[:, scored].sum(axis=1)
    groups = _tie_groups(sorted(scored, key=lambda k: (places[k], best[k], worst[k])), above)
    return Board(
        [
            Place(int(places[k]), (int(best[k]), int(worst[k])) if key is not None else None, groups.get(k))
            for k, key in enumerate(keys)
        ],
        p_holm,
        above,
    )


def _ranks(keys: Sequence[Key | None]) -> NDArray[np.int_]:
    """1 + the entries with a better key; those without one come last."""
    first: dict[Key, int] = {}
    ordered = sorted(key for key in keys if key is not None)
    for before, key in enumerate(ordered):
        first.setdefault(key, 1 + before)
    return np.array([1 + len(ordered) if key is None else first[key] for key in keys], dtype=int)


def _adjusted(p_value: Floats) -> Floats:
    """Each test counts once, though it stands on both sides of the diagonal."""
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
    """The key of a score."""
    return None if score is None else (-gain(score, direction),)
