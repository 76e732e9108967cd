"""Values of an entry, against results worked out by hand, and in simulations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.stats import trim_mean

from service.statistics.values import Limits, interval, value
from tests.service.statistics.cases import is_as_expected, named


@named("value")
def test_values_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    assert is_as_expected(value(**case["inputs"]), case["expected"])


def test_nan_and_infinite_values_are_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        value([0.5, float("nan")], 0, "maximize", 0.1)
    with pytest.raises(ValueError, match="not a number"):
        value([0.5, 0.6], 1, "maximize", float("nan"))
    for infinite in (float("inf"), float("-inf")):
        with pytest.raises(ValueError, match="infinite"):
            value([infinite, 0.5, 0.6], 0, "maximize", 0.1)


def test_diverged_seeds_count_as_the_worst_values() -> None:
    assert value([1.0, 2.0, 3.0, 4.0], 1, "minimize", 9.0).iqm == pytest.approx(3.0)
    assert value([1.0, 2.0, 3.0, 4.0], 1, "maximize", 0.0).iqm == pytest.approx(2.0)


@pytest.mark.parametrize("n", range(5, 13))
def test_the_interquartile_mean_agrees_with_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n).tolist()
    assert value(values, 0, "maximize", -9.0).iqm == pytest.approx(trim_mean(values, 0.25))


def test_intervals_are_cut_to_the_bounds() -> None:
    """Hand computation: mean .7, s .2, t(.985, 2) = 5.642778: .7 +- .651571, cut at 1; turned round, cut at 0."""
    assert value([0.5, 0.7, 0.9], 0, "maximize", 0.1, Limits(0, 1)).ci95 == pytest.approx((0.048429, 1), abs=1e-6)
    assert value([0.1, 0.3, 0.5], 0, "minimize", 0.9, Limits(0, 1)).ci95 == pytest.approx((0, 0.951571), abs=1e-6)
    assert interval([0.5, 0.7, 0.9], 0.97, Limits(0)) == pytest.approx((0.048429, 1.351571), abs=1e-6)
    assert interval([-0.9, 0.9], 0.97, Limits(-1, 1)) == (-1, 1)


@pytest.mark.parametrize(
    ("values", "items", "expected"),
    [
        ([0.65, 0.65, 0.65], 300, (0.65 - 1 / 600, 0.65 + 1 / 600)),
        ([1.0, 1.0, 1.0], 300, (1 - 1 / 600, 1)),
        ([0.0, 0.0], 4, (0, 0.125)),
        ([0.65, 0.65, 0.65], None, (0.65, 0.65)),
        ([0.5, 0.7, 0.9], 300, (0.048429, 1)),
        ([0.6499, 0.65, 0.6501], 300, (0.65 - 1 / 600, 0.65 + 1 / 600)),  # by Student's t +- .000326
    ],
)
def test_no_interval_is_narrower_than_one_test_item(
    values: list[float], items: int | None, expected: tuple[float, float]
) -> None:
    assert interval(values, 0.97, Limits(0, 1, items)) == pytest.approx(expected, abs=1e-6)


def test_an_interval_includes_a_mean_outside_the_bounds_of_the_metric() -> None:
    assert interval([1.5, 2.5], 0.97, Limits(0, 1)) == (0, 2)
    assert interval([-1.5, -2.5], 0.97, Limits(0, 1)) == (-2, 1)


def test_differences_of_a_metric_with_two_bounds_have_bounds() -> None:
    assert Limits(0, 1, 300).of_differences == Limits(-1, 1)
    assert Limits(-1, 1).of_differences == Limits(-2, 2)
    assert Limits(0, None).of_differences == Limits(None, 1).of_differences == Limits()


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize(("items", "share"), [(100, 0.9), (100, 0.99), (300, 0.65)])
def test_the_interval_of_a_share_of_few_items_holds_the_true_share(n: int, items: int, share: float) -> None:
    """The coverage is within three standard errors of .93 to .98. No interval is beyond the bounds or without width."""
    generator, repetitions = np.random.default_rng(99), 600
    held = 0
    for row in (generator.binomial(items, share, size=(repetitions, n)) / items).tolist():
        low, high = interval(row, 0.97, Limits(0, 1, items)) or (1.0, 0.0)
        assert 0 <= low < high <= 1
        held += low - 1e-12 <= share <= high + 1e-12
    error = 3 * (0.95 * 0.05 / repetitions) ** 0.5
    assert 0.93 - error <= held / repetitions <= 0.98 + error


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("draw", ["normal", "lognormal"])
def test_the_interval_holds_the_true_mean_in_95_of_100(n: int, draw: str) -> None:
    """The coverage is within three standard errors of .93 to .98."""
    generator, repetitions = np.random.default_rng(99), 600
    sample = generator.normal(size=(repetitions, n))
    sample, true = (sample, 0.0) if draw == "normal" else (np.exp(0.5 * sample), float(np.exp(0.125)))
    held = 0
    for row in sample.tolist():
        found = value(row, 0, "maximize", 0.0).ci95
        assert found is not None
        held += found[0] <= true <= found[1]
    error = 3 * (0.95 * 0.05 / repetitions) ** 0.5
    assert 0.93 - error <= held / repetitions <= 0.98 + error


def test_no_seed_counts_below_the_level_without_skill() -> None:
    """Hand computation: (.10 + .10 + .40) / 3 = .20, where .08 counts as .10; with one diverged seed (.10 + .40 +
    .10) / 3.
    """
    found = value([0.08, 0.10, 0.40], 0, "maximize", 0.10)
    assert found.score == pytest.approx(0.20)
    assert found.mean == pytest.approx(0.58 / 3)
    assert value([0.08, 0.40], 1, "maximize", 0.10).score == pytest.approx(0.20)


def test_no_seed_of_a_minimized_metric_counts_above_the_level_without_skill() -> None:
    """Hand computation: (3 + 4 + 7) / 3 = 14 / 3, where 8.8e18 nats count as 7."""
    found = value([3.0, 4.0, 8.8e18], 0, "minimize", 7.0)
    assert found.score == pytest.approx(14 / 3)
    assert found.mean == pytest.approx(8.8e18 / 3)
    assert found.score == value([3.0, 4.0], 1, "minimize", 7.0).score, "as if it had become NaN"


def test_whole_numbers_too_large_for_numpy_are_pooled() -> None:
    """PostgreSQL gives 1e30 back as such a number. Five seeds have a mean of the middle half."""
    found = value([3, 4, 5, 6, 10**30], 0, "minimize", 7.0)
    assert found.iqm == found.score == pytest.approx(5.0)
    assert found.mean == pytest.approx(2e29)


def test_the_score_is_the_mean_if_there_is_no_level_without_skill() -> None:
    assert value([3.0, 8.8e18], 0, "minimize", None).score == pytest.approx(4.4e18)


@pytest.mark.parametrize(
    ("values", "has_gap"),
    [
        ([0.60, 0.95, 0.95], True),  # .35 beside 0
        ([0.60, 0.94, 0.95, 0.96, 0.95], True),  # .34 beside .02
        ([0.60, 0.61, 0.95], True),  # .34 beside .01, whichever are more
        ([0.60, 0.68, 0.95], True),  # .27 beside .08, of which 3 times is .24
        ([0.60, 0.685, 0.95], True),  # .265 beside .085, of which 3 times is .255
        ([0.60, 0.69, 0.95], False),  # .26 beside .09, of which 3 times is .27
        ([0.60, 0.75, 0.95], False),
        ([0.90, 0.951, 0.951], True),  # .051 of a range of 1
        ([0.90, 0.949, 0.949], False),  # .049
        ([0.5, 0.5, 0.5], False),
        ([0.60, 0.95], False),  # two seeds
        ([0.60], False),
    ],
)
def test_values_in_two_groups_have_a_gap(values: list[float], has_gap: bool) -> None:
    assert value(values, 0, "maximize", 0.1, Limits(0, 1)).gap is has_gap
    assert value(values[::-1], 4, "minimize", 0.9, Limits(0, 1)).gap is has_gap, "seeds that diverged have no value"


def test_a_gap_without_bounds_is_compared_with_the_range_from_no_skill_to_best() -> None:
    """Hand computation: 5% of the range from 6 bits without skill to 0 is .3; 5% of that from 6 nats to -14, the best
    seed, is 1.
    """
    assert value([2.0, 2.0, 2.31], 0, "minimize", 6.0, Limits(0)).gap
    assert not value([2.0, 2.0, 2.29], 0, "minimize", 6.0, Limits(0)).gap
    assert value([-14.0, -14.0, -12.9], 0, "minimize", 6.0).gap
    assert not value([-14.0, -14.0, -13.1], 0, "minimize", 6.0).gap
    assert value([14.0, 14.0, 12.9], 0, "maximize", -6.0).gap
    assert not value([14.0, 14.0, 13.03], 0, "maximize", -6.0).gap
    assert value([3.0, 3.2, 8.8e18], 0, "minimize", 6.0, Limits(0)).gap, "one that exploded"
    assert not value([2.0, 2.0, 9.0], 0, "minimize", None, Limits(0)).gap, "nobody knows the range"


@pytest.mark.parametrize(("n", "bare"), [(3, 0.48), (5, 0.67)])
def test_a_gap_marks_draws_in_which_some_seeds_do_not_take_off(n: int, bare: float) -> None:
    """One seed in five stays near .60 instead of .95. ``bare`` of the intervals hold the mean, .88. Nearly every draw
    that has both kinds of seeds has a gap.
    """
    generator, repetitions = np.random.default_rng(99), 1000
    stays = generator.random((repetitions, n)) < 0.2
    drawn = np.where(stays, 0.60, 0.95) + 0.01 * generator.normal(size=stays.shape)
    found = [value(row, 0, "maximize", 0.1, Limits(0, 1)) for row in drawn.clip(0, 1).tolist()]
    held = np.mean([one.ci95 is not None and one.ci95[0] <= 0.88 <= one.ci95[1] for one in found])
    assert held == pytest.approx(bare, abs=0.05)
    both = [0 < staying < n for staying in stays.sum(axis=1).tolist()]
    assert np.mean([one.gap for one, is_both in zip(found, both, strict=True) if is_both]) > 0.98
    assert not any(one.gap for one, is_both in zip(found, both, strict=True) if not is_both)
