"""Differences that are looked at after every seed, against results worked out by hand, and in simulations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from service.statistics.anytime import anytime
from tests.service.statistics.cases import is_as_expected, named


@named("anytime")
def test_anytime(case: Mapping[str, Any]) -> None:
    assert is_as_expected(anytime(**case["inputs"]), case["expected"])


def test_without_a_difference_nothing_is_known() -> None:
    assert anytime([]) == (1.0, 1.0, None)
    assert anytime([0.3]) == (1.0, 1.0, None)


def test_what_was_once_sure_stays_so() -> None:
    sure = [0.06, 0.04, 0.03, 0.07, 0.05]
    later = anytime([*sure, -0.5])
    assert later.e_value < 1
    assert later.p_value == anytime(sure).p_value


def test_who_stops_when_it_looks_good_is_wrong_in_one_of_twenty() -> None:
    generator, repetitions = np.random.default_rng(5), 150
    wrong = outside = 0
    for row in generator.normal(size=(repetitions, 20)).tolist():
        found = [anytime(row[:n]) for n in range(3, 21)]
        wrong += any(one.p_value <= 0.05 for one in found)
        outside += any(one.ci95 is not None and not one.ci95[0] <= 0 <= one.ci95[1] for one in found)
    bar = 0.05 + 3 * (0.05 * 0.95 / repetitions) ** 0.5
    assert wrong / repetitions <= bar
    assert outside / repetitions <= bar


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        anytime([0.1, float("nan")])
