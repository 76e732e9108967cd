"""Times, against results worked out by hand."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import CensoredData, binomtest, ecdf, quantile_test, t

from normcore.target import Point
from service.statistics.times import (
    SeedTime,
    TimeUnit,
    best_held,
    kaplan_meier,
    restricted_mean,
    survival,
    time_pair,
    time_pairs,
    time_to_target,
    times,
    to_baselines_best,
)
from tests.service.statistics.cases import is_as_expected, named


def points(rows: Sequence[Sequence[float]]) -> list[Point]:
    return [Point(int(step), value, seconds) for step, value, seconds in rows]


@named("time_to_target")
def test_times_to_the_target_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    given = {**case["inputs"], "points": points(case["inputs"]["points"])}
    found = time_to_target(**given)
    assert found._asdict() == pytest.approx(case["expected"])


@named("times")
def test_summaries_of_times_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    assert is_as_expected(times(**case["inputs"]), case["expected"])


@named("survival")
def test_survival_is_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    assert is_as_expected(survival(**case["inputs"]), case["expected"])


@named("time_pair")
def test_pairs_of_times_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    a, b = ({int(seed): SeedTime(**run) for seed, run in case["inputs"][name].items()} for name in "ab")
    assert is_as_expected(time_pair(a, b), case["expected"])


def test_a_run_that_was_watched_for_no_time_is_not_compared() -> None:
    runs = {seed: SeedTime(10.0, True) for seed in range(3)}
    assert time_pair(runs, {**runs, 2: SeedTime(0.0, False)}) is None
    assert time_pair(runs, {0: SeedTime(5.0, True)}) is None, "one seed is too few"
    found = time_pair(runs, runs)
    assert found is not None
    assert (found.tau, found.mean, found.p_value) == (None, 0.0, 1.0)


seconds = st.builds(SeedTime, st.one_of(st.floats(1, 100), st.just(0.0)), st.booleans())


@given(st.lists(st.dictionaries(st.integers(0, 7), seconds, max_size=8), min_size=2, max_size=4))
def test_all_pairs_at_once_agree_with_each_pair_alone(entries: list[dict[int, SeedTime]]) -> None:
    found = time_pairs(entries)
    for (j, a), (k, b) in combinations(enumerate(entries), 2):
        alone = time_pair(a, b)
        if alone is None:
            assert np.isnan(found.p_value[j, k])
        else:
            assert (found.mean[j, k], found.p_value[j, k]) == pytest.approx((alone.mean, alone.p_value))


arrivals = st.lists(st.tuples(st.integers(1, 9).map(float), st.booleans()), min_size=1, max_size=30)


@given(arrivals)
def test_the_share_left_after_each_time_agrees_with_scipy(runs: list[tuple[float, bool]]) -> None:
    found = kaplan_meier([time for time, _ in runs], [reached for _, reached in runs])
    missed = [not reached for _, reached in runs]
    scipys = ecdf(CensoredData.right_censored([time for time, _ in runs], missed)).sf
    assert [time for time, _ in found] == scipys.quantiles.tolist()
    assert [left for _, left in found] == pytest.approx(scipys.probabilities.tolist(), abs=1e-12)


@given(arrivals.filter(lambda runs: len(runs) >= 6))
def test_the_interval_of_the_median_agrees_with_scipy_with_misses_at_infinity(runs: list[tuple[float, bool]]) -> None:
    found = times([time for time, _ in runs], [reached for _, reached in runs], 10.0).ci95
    assert found is not None
    latest = [time if reached else math.inf for time, reached in runs]
    assert found[0] == quantile_test([time for time, _ in runs], q=0, p=0.5).confidence_interval(0.95).low
    high = quantile_test(latest, q=0, p=0.5).confidence_interval(0.95).high
    assert found[1] == (None if math.isinf(high) else high)


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_the_share_left_agrees_with_scipy(left_of: tuple[int, int]) -> None:
    scipys = binomtest(*left_of).proportion_ci(0.95, "exact")
    assert survival(*left_of)[1:] == pytest.approx((scipys.low, scipys.high), abs=1e-9)


@pytest.mark.parametrize("n", [3, 5, 6, 10])
def test_the_interval_holds_the_true_median_in_95_of_100(n: int) -> None:
    generator, repetitions = np.random.default_rng(41), 500
    held = 0
    for row in np.exp(generator.normal(size=(repetitions, n))).tolist():
        found = times(row, [True] * n, 100.0).ci95
        assert found is not None
        assert found[1] is not None
        held += found[0] <= 1 <= found[1]
    error = 3 * (0.95 * 0.05 / repetitions) ** 0.5
    assert 0.93 - error <= held / repetitions <= 0.98 + error


@named("to_baselines_best")
def test_fractions_of_the_baselines_time_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    inputs = case["inputs"]
    baseline, own = ({int(seed): points(rows) for seed, rows in inputs[of].items()} for of in ("baseline", "own"))
    found = to_baselines_best(baseline, own, inputs["direction"], inputs["k"])
    assert found is not None
    assert found._asdict() == pytest.approx(case["expected"])


def rising(step: int, seconds: float = 1.0) -> list[Point]:
    """Curve that rises to 1 at a step and stays there, with ``seconds`` a step."""
    values = (0.0, 1.0, 1.0)
    return [Point(step * k, value, step * k * seconds) for k, value in enumerate(values)]


def test_the_fraction_over_seeds_is_a_geometric_mean_with_a_log_interval() -> None:
    baseline = {0: rising(40), 1: rising(40), 2: rising(40), 3: rising(7)}
    own = {0: rising(10), 1: rising(20), 2: rising(40)}
    found = to_baselines_best(baseline, own, "maximize")
    assert found is not None
    logs = [math.log(1 / 4), math.log(1 / 2), 0.0]
    half = t.ppf(0.975, 2) * math.log(2) / math.sqrt(3)
    assert found.fraction == pytest.approx(0.5)
    assert found.ci95 == pytest.approx((math.exp(sum(logs) / 3 - half), math.exp(sum(logs) / 3 + half)))
    assert (found.n, found.bound) == (3, None)


def test_a_seed_without_evaluations_gives_no_fraction() -> None:
    assert to_baselines_best({0: rising(40), 1: rising(40)}, {0: rising(20), 1: []}, "maximize") is None


def test_the_fraction_by_seconds_differs_from_the_fraction_by_steps() -> None:
    found = to_baselines_best({0: rising(40, 1.0)}, {0: rising(20, 3.0)}, "maximize", by="seconds")
    assert found is not None
    assert found.fraction == pytest.approx(1.5)


@pytest.mark.parametrize("top", [0.5, 2.0], ids=["worse", "better"])
def test_the_time_to_an_entrys_own_best_does_not_need_the_baselines_level(top: float) -> None:
    own = {0: [Point(point.step, top * point.value, point.seconds) for point in rising(10, 3.0)]}
    for by, part in (("steps", 1 / 4), ("seconds", 3 / 4)):
        baseline = {0: rising(40), 1: rising(40)}
        found = to_baselines_best(baseline, own, "maximize", by=by, own_best=True)  # type: ignore[arg-type]
        assert found is not None
        assert found.fraction == pytest.approx(part)
        assert (found.n, found.bound) == (1, None)
    beside = to_baselines_best({0: rising(40)}, own, "maximize")
    assert beside is not None
    assert beside.bound == ("at least" if top < 1 else None)


def test_there_is_no_fraction_without_a_common_seed_or_two_evaluations() -> None:
    assert to_baselines_best({0: rising(40)}, {1: rising(40)}, "maximize") is None
    assert to_baselines_best({0: rising(40)[:1]}, {0: rising(40)}, "maximize") is None


def test_an_own_best_needs_two_evaluations_of_both_curves() -> None:
    baseline, short = {0: rising(40), 1: rising(40)}, rising(40)[:1]
    assert to_baselines_best(baseline, {0: short}, "maximize", own_best=True) is None
    assert to_baselines_best({0: short}, {0: rising(10)}, "maximize", own_best=True) is None
    found = to_baselines_best(baseline, {0: short, 1: rising(10)}, "maximize", own_best=True)
    assert found is not None
    assert found.fraction == pytest.approx(1 / 4)
    assert found.n == 1


@pytest.mark.parametrize(("direction", "best"), [("maximize", 0.6), ("minimize", 0.2)])
def test_the_best_level_is_held_for_two_evaluations(direction: Any, best: float) -> None:
    rows = [(20, 0.1, 1.0), (40, 0.2, 2.0), (60, 0.6, 3.0), (80, 0.9, 4.0)]
    assert best_held(points(rows), direction) == best


@pytest.mark.parametrize("row", [(20, math.nan, 1.0), (20, math.inf, 1.0), (20, 0.5, -1.0), (20, 0.5, math.nan)])
def test_values_that_are_not_finite_and_invalid_times_are_refused(row: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"step 20"):
        time_to_target(points([row]), 0.5, "maximize")
    with pytest.raises(ValueError, match=r"step 20"):
        best_held(points([row]), "maximize")


def test_a_target_or_an_end_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        time_to_target(points([(20, 0.5, 1.0)]), math.nan, "maximize")
    for tau in (math.nan, -1.0):
        with pytest.raises(ValueError, match="negative or not a number"):
            times([100.0, 140.0], [True, True], tau)


def test_the_true_fraction_lies_in_its_interval_in_19_of_20_cases() -> None:
    generator, repetitions = np.random.default_rng(61), 400
    hit = 0
    for steps in np.exp(generator.normal([math.log(400), math.log(100)], 0.3, size=(repetitions, 5, 2))):
        baseline, own = ({seed: _risen(at) for seed, at in enumerate(column)} for column in steps.T)
        found = to_baselines_best(baseline, own, "maximize", by="seconds")
        assert found is not None
        assert found.ci95 is not None
        hit += found.ci95[0] <= 0.25 <= found.ci95[1]
    assert 0.92 <= hit / repetitions <= 0.98


def test_times_that_do_not_differ_are_called_different_in_1_of_20_cases() -> None:
    generator, repetitions = np.random.default_rng(62), 400
    alarms = 0
    for both in np.exp(generator.normal(5, 0.3, size=(repetitions, 2, 6))):
        found = time_pair(*({seed: SeedTime(time, True) for seed, time in enumerate(row)} for row in both))
        assert found is not None
        alarms += found.p_value < 0.05
    assert 0.02 <= alarms / repetitions <= 0.08


def _risen(seconds: float) -> list[Point]:
    """Curve that rises to 1 after ``seconds`` and stays there."""
    return [Point(1, 0.0, 0.0), Point(2, 1.0, seconds), Point(3, 1.0, 2 * seconds)]


def test_times_are_cut_at_the_first_censoring_time() -> None:
    """Hand computation: two runs were watched until 10 and 30, so both times are known only as 10 or more."""
    a = {0: SeedTime(10.0, False), 1: SeedTime(30.0, False), 2: SeedTime(50.0, True)}
    found = time_pair(a, {seed: SeedTime(40.0, True) for seed in range(3)})
    assert found is not None
    assert (found.tau, found.mean, found.p_value) == (10.0, 0.0, 1.0)


def test_the_restricted_mean_ignores_times_beyond_tau() -> None:
    """Hand computation: the whole of the first 100 counts, half of the next 100, and nothing beyond 200."""
    assert restricted_mean([(100.0, 0.5), (300.0, 0.0)], 200.0) == pytest.approx(150)
    assert restricted_mean([(100.0, 0.5), (200.0, 0.0)], 200.0) == pytest.approx(150)


def test_a_time_of_0_has_no_logarithm_and_no_interval() -> None:
    assert times([0.0, 10.0, 20.0], [True] * 3, 20.0).ci95 is None


def test_a_miss_widens_the_interval_of_the_median_in_both_directions() -> None:
    """The interval of a median of six times goes from the first to the last; the first here is a miss."""
    at, reached = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0], [False, True, True, True, True, True]
    assert times(at, reached, 60.0).ci95 == (10.0, None)
    assert times(at, [True] * 6, 60.0).ci95 == (10.0, 60.0)


def test_a_level_reached_only_at_the_last_step_gives_a_lower_bound() -> None:
    """The baseline holds .5 from step 10 on, its first; the own curve is above .5 only at its last step, 30."""
    baseline = {0: points([(10, 0.5, 1), (20, 0.5, 2)])}
    own = {0: points([(10, 0.2, 1), (20, 0.3, 2), (30, 0.9, 4)])}
    cases: list[tuple[TimeUnit, int]] = [("steps", 3), ("seconds", 4)]
    for by, fraction in cases:
        found = to_baselines_best(baseline, own, "maximize", by=by)
        assert found is not None
        assert found.fraction == pytest.approx(fraction)
        assert (found.ci95, found.n, found.bound) == (None, 1, "at least")


def test_one_seed_that_misses_the_level_makes_the_fraction_a_bound() -> None:
    baseline = {seed: points([(10, 0.5, 1), (20, 0.5, 2)]) for seed in range(2)}
    missed, reached = points([(10, 0.2, 1), (20, 0.3, 2)]), points([(10, 0.6, 1), (20, 0.6, 2)])
    found = to_baselines_best(baseline, {0: missed, 1: reached}, "maximize")
    assert found is not None
    assert (found.ci95, found.n, found.bound) == (None, 2, "at least")


def test_a_level_must_be_held_for_as_many_evaluations_as_asked() -> None:
    """Hand computation with a target of .5: touched at 20, held for two evaluations from 40 on and for three from 60
    on.
    """
    curve = points([(20, 0.6, 1), (30, 0.1, 2), (40, 0.5, 3), (50, 0.5, 4), (55, 0.0, 5)])
    curve += points([(60, 0.5, 6), (70, 0.5, 7), (80, 0.5, 8)])
    assert [time_to_target(curve, 0.5, "maximize", k).steps for k in (1, 2, 3)] == [20, 40, 60]
    own = {0: points([(5, 0.5, 1), (6, 0.0, 2), (10, 0.5, 3), (20, 0.5, 4), (25, 0, 5), (30, 0.5, 6), (40, 0.5, 7)])}
    own[0].append(Point(50, 0.5, 8.0))
    for k, fraction in ((2, 10 / 40), (3, 30 / 60)):
        found = to_baselines_best({0: curve}, own, "maximize", k)
        assert found is not None
        assert found.fraction == pytest.approx(fraction)


def test_fractions_that_do_not_differ_have_no_interval() -> None:
    found = to_baselines_best({0: rising(40), 1: rising(20)}, {0: rising(20), 1: rising(10)}, "maximize")
    assert found is not None
    assert found.fraction == pytest.approx(0.5)
    assert (found.ci95, found.n) == (None, 2)
