"""Order of results, compared with an expected order, seed by seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from normcore.spec.metric import Direction

Values = Mapping[int, float | None]  # by seed


@dataclass(frozen=True, slots=True)
class Held:
    """Number of seeds in which an order holds: each spec is strictly better than the next one.

    Attributes:
        seeds: number of seeds in which the whole order holds.
        of: number of seeds that all specs have.
        pairs: for each spec but the last, number of seeds in which it is better than the next one.
    """

    seeds: int
    of: int
    pairs: Sequence[int]


def held(best_first: Sequence[Values], direction: Direction) -> Held:
    """Count the seeds in which an order holds. A run without a value is worse than any run with a value.

    Args:
        best_first: values by seed of each spec, in the expected order.
    """
    seeds = sorted(set.intersection(*(set(values) for values in best_first)))
    losses = [[_loss(values[seed], direction) for seed in seeds] for values in best_first]
    better = [[this < worse for this, worse in zip(*pair, strict=True)] for pair in pairwise(losses)]
    return Held(sum(map(all, zip(*better, strict=True))), len(seeds), [sum(pair) for pair in better])


def _loss(value: float | None, direction: Direction) -> float:
    if value is None or math.isnan(value):
        return math.inf
    return -value if direction == "maximize" else value
