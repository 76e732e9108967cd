"""Differences of two entries, against results worked out by hand, and in simulations."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind

from service.statistics.differences import holm, pair, pairs
from service.statistics.values import Limits
from tests.service.statistics.cases import is_as_expected, named


def by_seed(values: Mapping[str, float]) -> dict[int, float]:
    return {int(seed): value for seed, value in values.items()}


@named("pair")
def test_pairs_of_entries_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    a, b = (by_seed(case["inputs"][name]) for name in "ab")
    assert is_as_expected(pair(a, b), case["expected"])
    turned = pair(b, a)
    if turned is not None:
        assert turned.mean == pytest.approx(-case["expected"]["mean"])
        assert turned.p_value == pytest.approx(case["expected"]["p_value"])


@named("holm")
def test_holms_correction_is_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    assert is_as_expected(holm(np.array(case["inputs"]["p"])).tolist(), case["expected"])


def test_holms_correction_of_no_test_is_empty() -> None:
    assert holm(np.array([])).tolist() == []


numbers = st.one_of(st.floats(-100, 100), st.sampled_from([0.0, 0.5, 1.0]))
entries = st.dictionaries(st.integers(0, 11), numbers, max_size=12)


@given(st.lists(entries, min_size=1, max_size=5))
def test_all_pairs_at_once_agree_with_each_pair_alone(values: list[dict[int, float]]) -> None:
    found = pairs(values)
    for (j, a), (k, b) in product(enumerate(values), repeat=2):
        alone = pair(a, b) if j != k else None
        p_value = found.p_value[j, k]
        if alone is None:
            assert np.isnan(p_value)
        else:
            assert (found.mean[j, k], p_value) == pytest.approx((alone.mean, alone.p_value))


@given(st.lists(st.tuples(entries, st.floats(-50, 150)), min_size=1, max_size=5))
def test_values_of_a_pair_are_cut_to_the_lower_ceiling(given: list[tuple[dict[int, float], float]]) -> None:
    values, ceilings = [own for own, _ in given], [ceiling for _, ceiling in given]
    found = pairs(values, ceilings)
    for j, k in product(range(len(values)), repeat=2):
        most = min(ceilings[j], ceilings[k])
        a, b = ({seed: min(value, most) for seed, value in values[n].items()} for n in (j, k))
        alone = pair(a, b) if j != k else None
        if alone is None:
            assert np.isnan(found.p_value[j, k])
        else:
            assert (found.mean[j, k], found.p_value[j, k]) == pytest.approx((alone.mean, alone.p_value))


@given(entries, entries)
def test_a_pair_agrees_with_scipy(a: dict[int, float], b: dict[int, float]) -> None:
    common = sorted(a.keys() & b.keys())
    differences = [a[seed] - b[seed] for seed in common]
    paired = len(common) >= 5 and 2 * len(common) >= min(len(a), len(b))
    samples = [differences] if paired else [list(a.values()), list(b.values())]
    assume(all(len(sample) > 1 and max(sample) - min(sample) > 1e-6 for sample in samples))
    test = ttest_1samp(differences, 0) if paired else ttest_ind(*samples, equal_var=False)
    found = pair(a, b)
    assert found is not None
    assert found.p_value == pytest.approx(float(test.pvalue), rel=1e-6, abs=1e-12)
    assert found.ci95 == pytest.approx(tuple(test.confidence_interval(0.95)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "noise",
    [
        [0.1 + 0.2] * 6,
        [0.1 + 0.2, 0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2, 0.1 + 0.2],
        [0.3 - 1e-13, 0.3, 0.3 + 2e-13, 0.3, 0.3, 0.3 - 2e-13],
    ],
    ids=["alike", "of some seeds", "of both signs"],
)
def test_a_difference_by_rounding_alone_does_not_count(noise: list[float]) -> None:
    a, b = dict(enumerate(noise)), dict.fromkeys(range(6), 0.3)
    assert pair(a, b) == pair(b, a) == (0.0, None, 1.0, 6)
    found = pairs([a, b])
    assert found.mean.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert (found.p_value[0, 1], found.p_value[1, 0]) == (1.0, 1.0)


def test_a_difference_beyond_rounding_counts() -> None:
    a, b = dict.fromkeys(range(6), 0.3 + 1e-11), dict.fromkeys(range(6), 0.3)
    found = pair(a, b)
    assert found is not None
    assert found.mean == pytest.approx(1e-11, rel=1e-4)
    assert (found.ci95, found.p_value) == (None, 2.0**-5)
    tiny = pair(dict.fromkeys(range(6), 1e-20), dict.fromkeys(range(6), 0.0))
    assert tiny is not None
    assert tiny.p_value == 2.0**-5, "what is small counts beside what both are"


def test_seeds_are_paired_only_if_half_of_them_are_common() -> None:
    """Five common seeds are half of ten seeds, and less than half of eleven."""
    values = dict(enumerate(np.random.default_rng(0).normal(size=11).tolist()))
    for size, paired in ((10, True), (11, False)):
        a = {seed: values[seed] for seed in range(size)}
        b = {seed: values[seed] + 1 for seed in range(5)} | {seed + 90: values[seed] for seed in range(5, size)}
        found = pair(a, b)
        assert found is not None
        assert (found.p_value == 2.0**-4) is paired, "the five differences are equal"


def test_nan_and_infinite_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        pair({0: float("nan"), 1: 1.0}, {0: 1.0, 1: 2.0})
    with pytest.raises(ValueError, match="infinite"):
        pair({0: float("inf"), 1: 1.0}, {0: 1.0, 1: 2.0})
    with pytest.raises(ValueError, match="a p-value is not a number"):
        holm(np.array([0.01, np.nan]))


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_interval_holds_the_true_difference_in_95_of_100(n: int) -> None:
    generator, repetitions = np.random.default_rng(20261122), 600
    held = 0
    for a, b in generator.normal(size=(repetitions, 2, n)).tolist():
        found = pair(dict(enumerate(a)), dict(enumerate(b)))
        assert found is not None
        assert found.ci95 is not None
        held += found.ci95[0] <= 0 <= found.ci95[1]
    error = 3 * (0.95 * 0.05 / repetitions) ** 0.5
    assert 0.93 - error <= held / repetitions <= 0.98 + error


def test_a_difference_of_two_shares_lies_between_minus_one_and_one() -> None:
    """Hand computation after Welch: means .85 and .35, errors .15 and .05, 1.22 degrees of freedom: .5 +- 1.29."""
    one, other = {0: 0.7, 1: 1.0}, {0: 0.3, 1: 0.4}
    whole, cut = pair(one, other), pair(one, other, Limits(0, 1))
    assert whole is not None
    assert whole.ci95 is not None
    assert whole.ci95[1] > 1
    assert cut == whole._replace(ci95=(whole.ci95[0], 1))
    back = pair(other, one, Limits(0, 1))
    assert back is not None
    assert back.ci95 == pytest.approx((-1, -whole.ci95[0]))
    assert pair(one, other, Limits(0)) == whole, "with one bound, differences have none"
    assert pair({0: 0.5}, {0: 0.5}, Limits(0, 1)) is None
