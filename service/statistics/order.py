"""Which entries of a board are above which others, and which cannot be told apart."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from normcore.spec.metric import Direction
from service.statistics.differences import Difference, holm
from service.statistics.spread import gain

SURE = 0.05  # Holm's p of a pair that is told apart


class Place(NamedTuple):
    """Where an entry stands.

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
    """Places by entry, and Holm's p by pair of entries."""

    places: Mapping[str, Place]
    p_holm: Mapping[tuple[str, str], float]


def board(
    scores: Mapping[str, float | None],
    direction: Direction,
    difference: Callable[[str, str], Difference | None],
) -> Board:
    """Put entries in order.

    Args:
        scores: by entry; None if all of its seeds diverged.
        difference: a - b of two of these, in the direction of the metric; None if it cannot be tested.
    """
    gains = {name: -math.inf if score is None else gain(score, direction) for name, score in scores.items()}
    ranked = sorted(scores, key=lambda name: -gains[name])
    scored = [name for name in ranked if scores[name] is not None]
    p_holm, above = _above(scored, gains, direction, difference)
    groups = _tie_groups(scored, above)
    return Board({name: _place(name, gains, scored, above, groups) for name in ranked}, p_holm)


def _above(
    scored: Sequence[str],
    gains: Mapping[str, float],
    direction: Direction,
    difference: Callable[[str, str], Difference | None],
) -> tuple[dict[tuple[str, str], float], set[tuple[str, str]]]:
    """Holm's p of each pair that can be tested, and the pairs whose first is above its second: mean difference and
    score must both favour it, so that who survives divergence wins nothing by it."""
    tested = {(a, b): found for a, b in combinations(scored, 2) if (found := difference(a, b)) is not None}
    adjusted = dict(zip(tested, holm([found.p_value for found in tested.values()]), strict=True))
    above = set()
    for (a, b), found in tested.items():
        better = gain(found.mean, direction)
        if adjusted[a, b] <= SURE and better * (gains[a] - gains[b]) > 0:
            above.add((a, b) if better > 0 else (b, a))
    return adjusted, above


def _tie_groups(scored: Sequence[str], above: set[tuple[str, str]]) -> dict[str, int]:
    groups: dict[str, int] = {}
    head, group = "", 0
    for name in scored:
        if group == 0 or (head, name) in above:
            head, group = name, group + 1
        groups[name] = group
    return groups


def _place(
    name: str,
    gains: Mapping[str, float],
    scored: Sequence[str],
    above: set[tuple[str, str]],
    groups: Mapping[str, int],
) -> Place:
    rank = 1 + sum(other > gains[name] for other in gains.values())
    if name not in groups:
        return Place(rank, None, None)
    best = 1 + sum((other, name) in above for other in scored)
    worst = len(scored) - sum((name, other) in above for other in scored)
    return Place(rank, (best, worst), groups[name])


def rank_beside(score: float, scores: Sequence[float], direction: Direction) -> int:
    """Of a published or claimed number: 1 + the measured entries that are better. It moves none of them."""
    return 1 + sum(gain(other, direction) > gain(score, direction) for other in scores)
