"""Order of results, compared with the expected order seed by seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from normcore.spec.metric import Direction

Values = Mapping[int, float | None]  # by seed


@dataclass(frozen=True, slots=True)
class Held:
    """Number of seeds, out of those that all specs have, in which each spec is strictly better than the next.

    Attributes:
        pairs: the same of each spec and the next by themselves.
    """

    seeds: int
    of: int
    pairs: Sequence[int]


def held(best_first: Sequence[Values], direction: Direction) -> Held:
    """Count seeds; a run without a value is worse than any with one."""
    seeds = sorted(set.intersection(*(set(values) for values in best_first)))
    losses = [[_loss(values[seed], direction) for seed in seeds] for values in best_first]
    better = [[this < worse for this, worse in zip(*pair, strict=True)] for pair in pairwise(losses)]
    return Held(sum(map(all, zip(*better, strict=True))), len(seeds), [sum(pair) for pair in better])


def _loss(value: float | None, direction: Direction) -> float:
    if value is None or math.isnan(value):
        return math.inf
    return -value if direction == "maximize" else value
