"""Differences that are looked at after every seed, against results worked out by hand, and in simulations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from service.statistics.anytime import anytime, undecided
from tests.service.statistics.cases import is_as_expected, named


@named("anytime")
def test_e_p_and_interval_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    assert is_as_expected(anytime(**case["inputs"]), case["expected"])


def test_p_is_1_without_two_differences() -> None:
    assert anytime([]) == (1.0, 1.0, None)
    assert anytime([0.3]) == (1.0, 1.0, None)


@pytest.mark.parametrize("step", [0.1, 1e-6, 1e-9])
def test_two_differences_are_never_significant(step: float) -> None:
    """E of two differences is at most 3, the root of 1 + 2 g, so p stays above 1/3."""
    found = anytime([1.0, 1.0 + step])
    assert 1 < found.e_value <= 3
    assert found.p_value >= 1 / 3
    assert found.ci95 is None


def test_p_does_not_rise_when_a_later_seed_disagrees() -> None:
    sure = [0.06, 0.04, 0.03, 0.07, 0.05]
    later = anytime([*sure, -0.5])
    assert later.e_value < 1
    assert later.p_value == anytime(sure).p_value


def test_stopping_at_the_first_small_p_is_wrong_in_1_of_20_cases() -> None:
    generator, repetitions = np.random.default_rng(5), 150
    wrong = outside = 0
    for row in generator.normal(size=(repetitions, 20)).tolist():
        found = [anytime(row[:n]) for n in range(3, 21)]
        wrong += any(one.p_value <= 0.05 for one in found)
        outside += any(one.ci95 is not None and not one.ci95[0] <= 0 <= one.ci95[1] for one in found)
    bar = 0.05 + 3 * (0.05 * 0.95 / repetitions) ** 0.5
    assert wrong / repetitions <= bar
    assert outside / repetitions <= bar


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        anytime([0.1, float("nan")])


def test_two_entries_are_undecided_until_their_difference_is_sure() -> None:
    values = np.random.default_rng(7).normal([[0], [1], [1]], scale=0.01, size=(3, 8))
    far, near, other = (dict(enumerate(row)) for row in values.tolist())
    assert undecided([far, near, other]) == [1, 2]
    assert undecided([far, near]) == []
    first_two = [{seed: of[seed] for seed in (0, 1)} for of in (far, near)]
    assert undecided(first_two) == [0, 1], "two seeds tell little"
    assert undecided([far]) == []


def test_only_common_seeds_are_compared_and_all_pairs_count_as_tests() -> None:
    assert undecided([{0: 0.0, 1: 0.1, 2: 0.05}, {3: 1.0, 4: 1.1, 5: 1.05}]) == [0, 1]
    pair = [dict.fromkeys(range(4), 0.0), {seed: 1 + seed / 100 for seed in range(4)}]
    assert 0.05 / 45 < anytime([-value for value in pair[1].values()]).p_value < 0.05
    assert undecided(pair) == []
    others = [{seed: float(seed) for seed in range(4)} for _ in range(8)]
    assert undecided([*pair, *others])[:2] == [0, 1]


def test_undecided_corrects_p_for_all_pairs() -> None:
    """The first is better than either of two others at a p between 1/3 of 5% and 5%."""
    noise = [0.0, 0.1, -0.1, 0.05, -0.05]
    first, other, third = ([0.2] * 5, noise, [-value for value in noise])
    differences = [a - b for a, b in zip(first, other, strict=True)]
    assert 0.05 / 3 < anytime(differences).p_value < 0.05
    assert undecided([dict(enumerate(values)) for values in (first, other, third)]) == [0, 1, 2]
    assert undecided([dict(enumerate(values)) for values in (first, other)]) == []


def test_equal_differences_have_no_interval() -> None:
    assert anytime([0.1] * 5) == (1.0, 1.0, None)  # of three there is none, whatever they are


def test_undecided_reads_seeds_in_their_order_and_keeps_a_sure_difference() -> None:
    """Four seeds that agree decide the order. The fifth, which disagrees, would prevent that if it came first."""
    differences = dict(enumerate([1.0, 1.01, 0.99, 1.0, -3.0]))
    assert undecided([differences, dict.fromkeys(range(5), 0.0)]) == []
    backwards = {4 - seed: value for seed, value in differences.items()}
    assert undecided([backwards, dict.fromkeys(range(5), 0.0)]) == [0, 1]
