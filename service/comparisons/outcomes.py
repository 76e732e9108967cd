"""Standings of a comparison's entries: which are better than the baseline, and which may be first."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from normcore.spec.metric import Direction
from service.comparisons.schemas import Outcome
from service.leaderboards.ranked_board import Row
from service.leaderboards.ranking import ordered_by_value
from service.statistics.order import Place, key_of


class Standing(NamedTuple):
    """Standing of one entry.

    Attributes:
        place: None of one that is over the budget.
        above: Holm's p by fingerprint, of the ranked entries that it is surely better than.
        outcome, p_holm: beside the baseline; NaN where nothing was tested.
    """

    place: Place | None
    above: Mapping[str, float]
    outcome: Outcome
    p_holm: float


class _Order(NamedTuple):
    """Entries held beside each other, by fingerprint.

    Attributes:
        p_holm: of two of them; NaN where nothing was tested.
        above: of each, those that it is surely better than.
    """

    places: Mapping[str, Place]
    p_holm: Mapping[tuple[str, str], float]
    above: Mapping[str, Sequence[str]]


def standings(rows: Sequence[Row], baseline: Row, budget: int, direction: Direction) -> list[Standing]:
    """One standing for each entry. Entries over the budget do not take part in the correction of the others, as on
    boards.
    """
    everybody, within = _order(rows, direction), _order([row for row in rows if row.budget <= budget], direction)
    return [_standing(row.fingerprint, baseline.fingerprint, within, everybody) for row in rows]


def _order(rows: Sequence[Row], direction: Direction) -> _Order:
    names = [row.fingerprint for row in rows]
    keys = [key_of(row.pooled.score, direction) for row in rows]
    found = ordered_by_value(keys, [row.results for row in rows], direction)
    return _Order(
        dict(zip(names, found.places, strict=True)),
        {(own, other): float(found.p_holm[j, k]) for j, own in enumerate(names) for k, other in enumerate(names)},
        {own: [other for k, other in enumerate(names) if found.above[j, k]] for j, own in enumerate(names)},
    )


def _standing(own: str, baseline: str, within: _Order, everybody: _Order) -> Standing:
    order = within if own in within.places and baseline in within.places else everybody
    return Standing(
        place=within.places.get(own),
        above={other: within.p_holm[own, other] for other in within.above.get(own, ())},
        outcome=_outcome(order, own, baseline),
        p_holm=order.p_holm[own, baseline],
    )


def _outcome(order: _Order, own: str, baseline: str) -> Outcome:
    """The converged seeds and the score must agree: survivors of divergence win nothing."""
    if math.isnan(order.p_holm[own, baseline]):
        return "not tested"
    if baseline in order.above[own]:
        return "better"
    return "worse" if own in order.above[baseline] else "not shown"
