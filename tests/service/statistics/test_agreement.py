"""Claims are compared with seeds that they do not have themselves."""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

from service.statistics.agreement import agreement
from service.statistics.values import Limits

OURS = [0.80, 0.84, 0.88]  # whose interval at 97% is [.7097, .9703]


def by_seed(values: Sequence[float], first: int = 0) -> dict[int, float]:
    return dict(enumerate(values, first))


def fresh(values: Sequence[float]) -> dict[int, float]:
    """Results of seeds that no claim here has."""
    return by_seed(values, 100)


def test_a_claim_within_our_interval_that_chance_explains_is_confirmed() -> None:
    found = agreement(by_seed([0.82, 0.85, 0.86]), fresh(OURS))
    assert (found.verdict, found.fresh) == ("confirmed", [100, 101, 102])
    test = scipy.stats.ttest_ind([0.82, 0.85, 0.86], OURS, equal_var=False)
    assert found.difference is not None
    assert (found.difference.mean, found.difference.p_value) == pytest.approx((0.0033333333, test.pvalue))
    assert found.difference.ci95 == pytest.approx(list(test.confidence_interval(0.95)))


@pytest.mark.parametrize("values", [[0.99, 0.98, 0.985], [0.61, 0.60, 0.62]])
def test_a_claim_that_chance_does_not_explain_is_disputed(values: list[float]) -> None:
    assert agreement(by_seed(values), fresh(OURS)).verdict == "disputed"


def test_a_widely_scattered_claim_is_not_confirmed_by_a_large_p() -> None:
    found = agreement(by_seed([0.60, 0.99, 0.40]), fresh(OURS))
    assert found.difference is not None
    assert found.difference.p_value > 0.05
    assert found.verdict == "claimed", "its mean, .663, is not in our interval"


def test_seeds_that_the_claim_has_itself_do_not_confirm_it() -> None:
    claimed = by_seed(OURS)
    assert agreement(claimed, by_seed(OURS)) == ("claimed", [], None)
    assert agreement(claimed, {**by_seed(OURS), 3: 0.83, 4: 0.85}) == ("claimed", [3, 4], None), "two are too few"
    assert agreement(claimed, {**by_seed(OURS), 3: 0.83, 4: 0.85, 5: 0.84}).verdict == "confirmed"


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.84, "claimed"), (0.99, "claimed"), (1.05, "disputed"), (0.6, "disputed")]
)
def test_a_claim_of_one_seed_is_disputed_only_far_from_our_seeds(value: float, verdict: str) -> None:
    found = agreement({0: value}, fresh(OURS))
    assert found.verdict == verdict
    test = scipy.stats.ttest_ind([value], OURS)  # of equal variances, as if it were one more of our seeds
    assert found.difference is not None
    assert (found.difference.mean, found.difference.p_value) == pytest.approx((value - 0.84, test.pvalue))
    assert found.difference.ci95 == pytest.approx(list(test.confidence_interval(0.95)))


def test_a_claim_of_one_seed_stays_claimed_if_all_our_seeds_are_equal() -> None:
    assert agreement({0: 0.9}, fresh([0.5] * 4)) == ("claimed", [100, 101, 102, 103], None)


def test_a_claim_of_equal_values_is_confirmed_only_by_that_value() -> None:
    same = 0.03  # whose means of three and of nine differ by rounding
    assert agreement(by_seed([same] * 3), fresh([same] * 9)).verdict == "confirmed"
    assert agreement(by_seed([same] * 5), fresh([0.3] * 4)).verdict == "disputed"


def test_a_true_claim_is_disputed_in_1_of_20_cases() -> None:
    generator, repetitions = np.random.default_rng(63), 400
    disputed = 0
    for claimed, measured in generator.normal(0.8, 0.02, size=(repetitions, 2, 5)):
        found = agreement(dict(enumerate(claimed)), dict(enumerate(measured, 5)))
        disputed += found.verdict == "disputed"
    assert 0.02 <= disputed / repetitions <= 0.08


def test_the_interval_of_a_claims_difference_is_cut_to_the_metrics_bounds() -> None:
    cut = agreement({0: 0.1}, fresh([0.2, 0.9, 0.9]), Limits(0, 1)).difference
    whole = agreement({0: 0.1}, fresh([0.2, 0.9, 0.9])).difference
    assert cut is not None
    assert whole is not None
    assert whole.ci95 is not None
    assert whole.ci95[0] < -1
    assert whole.ci95[1] > 1
    assert cut == whole._replace(ci95=(-1, 1))


def test_equal_fresh_seeds_confirm_a_claim_within_one_test_item() -> None:
    claimed = {0: 0.651, 1: 0.651, 2: 0.651}
    assert agreement(claimed, fresh([0.65] * 3), Limits(0, 1, 300)).verdict == "confirmed"
    assert agreement(claimed, fresh([0.65] * 3), Limits(0, 1, 3000)).verdict == "claimed"
    assert agreement(claimed, fresh([0.65] * 3)).verdict == "claimed"
