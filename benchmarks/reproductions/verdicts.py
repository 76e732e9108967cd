"""Verdicts of boards on orders: how far each spec is from the next one, and if the difference may be chance."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from benchmarks.reproductions.markdown import number, words
from benchmarks.reproductions.sections import TO_THE_TARGET, Order
from benchmarks.reproductions.seeds import Seeds
from normcore.spec.metric import Direction
from service.leaderboards.entry import PooledTimes
from service.leaderboards.ranking import key_of_time
from service.statistics.differences import MeanDifference, pair, pairs
from service.statistics.order import Board, board, key_of
from service.statistics.speedups import SpeedupEstimate, speedup
from service.statistics.times import SeedTime, kaplan_meier, time_pairs, times
from service.statistics.values import Interval, mean

NO_TEST: Final = "has no test"
WHY_NO_TEST = "a test takes two converged seeds of each spec"
Outcome = Literal["agrees", "cannot tell", "says the opposite", "has no test"]


class Step(NamedTuple):
    """Comparison of a spec with the next one of an order.

    Attributes:
        size: difference of the two values, positive if the first is better; or updates of the next spec divided by
            those of the first. None if it is not known.
        ci95: 95% interval of ``size``; None without spread, or if ``size`` is a bound.
        p_value: p-value, Holm-adjusted for all pairs of the order; NaN without a test.
        bound: ``at least`` or ``at most`` if a target that is missed, or reached at the first evaluation, makes
            ``size`` a bound; else empty.
    """

    outcome: Outcome
    size: float | None
    ci95: Interval | None
    p_value: float
    bound: str = ""


def verdict(order: Order, seeds: Mapping[str, Seeds], direction: Direction) -> Sequence[Step] | None:
    """Compare the specs of an order on a board that has only these specs.

    Args:
        seeds: results by the name of the spec.
        direction: direction of the metric that ranks.

    Returns:
        A step for each spec but the last; None if the results of a spec are not known.
    """
    known = [seeds[name] for name in order.best_first if name in seeds]
    if len(known) < len(order.best_first):
        return None
    if order.by == TO_THE_TARGET:
        return None if any(found.times is None for found in known) else _by_times(known)
    if order.by:
        shown = [found.shown for found in known if found.shown is not None]
        return _by_series(shown) if len(shown) == len(known) else None
    return _by_values([found.converged for found in known], [found.score for found in known], direction)


def _by_values(
    values: Sequence[Mapping[int, float]], scores: Sequence[float | None], direction: Direction
) -> list[Step]:
    found = board([key_of(score, direction) for score in scores], direction, pairs(values))
    sign = 1 if direction == "maximize" else -1
    return [_step(found, k, pair(*both), sign) for k, both in enumerate(pairwise(values))]


def _by_series(shown: Sequence[Mapping[int, float | None]]) -> list[Step]:
    """Compare last values of a loss: lower is better. A spec with a seed whose last loss is not finite comes last."""
    finite = [{seed: value for seed, value in own.items() if value is not None} for own in shown]
    scores = [
        mean([*own.values()]) if own.keys() == all_.keys() else math.inf
        for own, all_ in zip(finite, shown, strict=True)
    ]
    return _by_values(finite, scores, "minimize")


def _step(found: Board, k: int, difference: MeanDifference | None, sign: int) -> Step:
    if difference is None:
        return Step(NO_TEST, None, None, math.nan)
    ci95 = _times_sign(sign, difference.ci95)
    return Step(_outcome(found, k), sign * difference.mean, ci95, float(found.p_holm[k, k + 1]))


def _times_sign(sign: int, interval: Interval | None) -> Interval | None:
    if interval is None or sign == 1:
        return interval
    low, high = interval
    return -high, -low


def _by_times(known: Sequence[Seeds]) -> list[Step]:
    reached, tau = [found.times or {} for found in known], min(found.max_steps for found in known)
    runs = [{seed: SeedTime(time.steps, time.reached) for seed, time in own.items()} for own in reached]
    found = board([key_of_time(_pooled(own, tau), tau) for own in runs], "minimize", time_pairs(runs))
    late = [found.is_unresolved for found in known]
    return [
        _step_of_times(found, k, speedup(baseline=reached[k + 1], own=reached[k]), late[k], late[k + 1])
        for k in range(len(known) - 1)
    ]


def _pooled(runs: Mapping[int, SeedTime], tau: float) -> PooledTimes:
    at, reached = [run.time for run in runs.values()], [run.reached for run in runs.values()]
    found = times(at, reached, tau)
    return PooledTimes(found.median, found.reached, found.ci95, kaplan_meier(at, reached) if at else [])


def _step_of_times(found: Board, k: int, ratios: SpeedupEstimate, late: bool, next_is_late: bool) -> Step:
    """Compare times to the target of a spec and the next one.

    Args:
        late: True if a seed of the first spec reaches the target at or before the first evaluation. Its true time may
            be shorter, and the ratio larger.
        next_is_late: True if a seed of the next spec does so.
    """
    p_value, steps = float(found.p_holm[k, k + 1]), ratios.steps
    outcome: Outcome = NO_TEST if math.isnan(p_value) else _outcome(found, k)
    bounds = {bound for bound in (ratios.bound, "at least" * late, "at most" * next_is_late) if bound}
    if steps is None or len(bounds) > 1:
        return Step(outcome, None, None, p_value)
    return Step(outcome, steps.ratio, None if bounds else steps.ci95, p_value, "".join(bounds))


def _outcome(found: Board, k: int) -> Outcome:
    if found.above[k, k + 1]:
        return "agrees"
    return "says the opposite" if found.above[k + 1, k] else "cannot tell"


def describe(order: Order, steps: Sequence[Step]) -> str:
    """Write the verdict as a sentence, with sizes, intervals and p-values."""
    if len(steps) == 1:
        return f"**The board {steps[0].outcome}**: {_size(order, steps[0], *order.best_first)}."
    each = (
        f"{words(sooner)} before {words(later)}: {step.outcome}, {_size(order, step, sooner, later)}"
        for step, (sooner, later) in zip(steps, pairwise(order.best_first), strict=True)
    )
    return f"**The board {summarize(steps)}**: {'; '.join(each)}."


def summarize(steps: Sequence[Step]) -> str:
    """Write the verdict in a few words: the outcome of one step, or how many steps the board agrees with."""
    outcomes = [step.outcome for step in steps]
    if len(steps) == 1 or set(outcomes) == {NO_TEST}:
        return outcomes[0]
    opposite = outcomes.count("says the opposite")
    agrees = f"agrees with {outcomes.count('agrees')} of {len(steps)} steps"
    return agrees + (f", says the opposite of {opposite}" if opposite else "")


def format_p(p_value: float) -> str:
    """Write a p-value with two digits; below 0.0001 as a bound."""
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"


def _size(order: Order, step: Step, sooner: str, later: str) -> str:
    if step.outcome == NO_TEST:
        return WHY_NO_TEST
    size = _of_times(step, sooner, later) if order.by == TO_THE_TARGET else _of_values(step, sooner)
    return f"{size}, {format_p(step.p_value)}"


def _of_values(step: Step, sooner: str) -> str:
    assert step.size is not None
    sign, better = (1, "better") if step.size >= 0 else (-1, "worse")
    return f"{words(sooner)} is {better} by {number(abs(step.size))}{_interval(_times_sign(sign, step.ci95))}"


def _interval(found: Interval | None) -> str:
    return "" if found is None else f" (95% interval {number(found[0])} to {number(found[1])})"


def _of_times(step: Step, sooner: str, later: str) -> str:
    if step.size is None:
        return f"how many times the updates of {words(sooner)} {words(later)} takes is not known"
    bound = f"{step.bound} " if step.bound else ""
    return f"{words(later)} takes {bound}{number(step.size)} times the updates of {words(sooner)}{_interval(step.ci95)}"
