"""Outcomes of a comparison's entries: which entries are better than the baseline, and which may be first."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from normcore.spec.metric import Direction
from service.comparisons.schemas import Outcome
from service.leaderboards.ranking import order_by_value
from service.leaderboards.row import MeasuredEntry
from service.statistics.order import RankEstimate, key_of


class EntryOutcome(NamedTuple):
    """Outcome of one entry.

    Attributes:
        rank: rank among the entries within the budget; None if the entry is over the budget.
        above: the ranked entries that this entry is surely better than: Holm-adjusted p-values by fingerprint.
        outcome, p_holm: outcome against the baseline, and its Holm-adjusted p-value; NaN if nothing was tested.
    """

    rank: RankEstimate | None
    above: Mapping[str, float]
    outcome: Outcome
    p_holm: float


class _Order(NamedTuple):
    """Order of entries, which are named by fingerprint.

    Attributes:
        ranks: rank of each entry.
        p_holm: Holm-adjusted p-value of every two entries; NaN where nothing was tested.
        above: for each entry, the entries that it is surely better than.
    """

    ranks: Mapping[str, RankEstimate]
    p_holm: Mapping[tuple[str, str], float]
    above: Mapping[str, Sequence[str]]


def outcomes(
    rows: Sequence[MeasuredEntry], baseline: MeasuredEntry, budget: int, direction: Direction
) -> list[EntryOutcome]:
    """Compute the outcome of each entry. As on boards, entries over the budget do not take part in the correction of
    the other entries.
    """
    everybody, within = _order(rows, direction), _order([row for row in rows if row.budget <= budget], direction)
    return [_entry_outcome(row.fingerprint, baseline.fingerprint, within, everybody) for row in rows]


def _order(rows: Sequence[MeasuredEntry], direction: Direction) -> _Order:
    names = [row.fingerprint for row in rows]
    keys = [key_of(row.pooled.score, direction) for row in rows]
    found = order_by_value(keys, [row.results for row in rows], direction)
    return _Order(
        dict(zip(names, found.ranks, strict=True)),
        {(own, other): float(found.p_holm[j, k]) for j, own in enumerate(names) for k, other in enumerate(names)},
        {own: [other for k, other in enumerate(names) if found.above[j, k]] for j, own in enumerate(names)},
    )


def _entry_outcome(own: str, baseline: str, within: _Order, everybody: _Order) -> EntryOutcome:
    order = within if own in within.ranks and baseline in within.ranks else everybody
    return EntryOutcome(
        rank=within.ranks.get(own),
        above={other: within.p_holm[own, other] for other in within.above.get(own, ())},
        outcome=_outcome(order, own, baseline),
        p_holm=order.p_holm[own, baseline],
    )


def _outcome(order: _Order, own: str, baseline: str) -> Outcome:
    """Outcome of an entry against the baseline. The test of the converged seeds and the score must agree, because only
    the score has the diverged seeds.
    """
    if math.isnan(order.p_holm[own, baseline]):
        return "not tested"
    if baseline in order.above[own]:
        return "better"
    return "worse" if own in order.above[baseline] else "not shown"
