"""What an entry is worth, against results worked out by hand, and in simulations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from service.statistics.values import value
from tests.service.statistics.cases import is_as_expected, named


@named("value")
def test_value(case: Mapping[str, Any]) -> None:
    assert is_as_expected(value(**case["inputs"]), case["expected"])


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        value([0.5, float("nan")], 0, "maximize", 0.1)
    with pytest.raises(ValueError, match="not a number"):
        value([0.5, 0.6], 1, "maximize", float("nan"))
    for infinite in (float("inf"), float("-inf")):
        with pytest.raises(ValueError, match="infinite"):
            value([infinite, 0.5, 0.6], 0, "maximize", 0.1)


def test_of_lower_is_better_those_that_diverged_are_the_highest() -> None:
    assert value([1.0, 2.0, 3.0, 4.0], 1, "minimize", 9.0).iqm == pytest.approx(3.0)
    assert value([1.0, 2.0, 3.0, 4.0], 1, "maximize", 0.0).iqm == pytest.approx(2.0)


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("draw", ["normal", "lognormal"])
def test_the_interval_holds_the_true_mean_in_95_of_100(n: int, draw: str) -> None:
    """Within three standard errors of the bar, .93 to .98."""
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


def test_no_seed_enters_the_score_below_no_skill() -> None:
    """By hand: (.10 + .10 + .40) / 3 = .20, where .08 counts as .10; with one diverged seed (.10 + .40 + .10) / 3."""
    found = value([0.08, 0.10, 0.40], 0, "maximize", 0.10)
    assert (found.score, found.mean) == (pytest.approx(0.20), pytest.approx(0.58 / 3))
    assert value([0.08, 0.40], 1, "maximize", 0.10).score == pytest.approx(0.20)


def test_of_lower_is_better_no_seed_enters_the_score_above_no_skill() -> None:
    """By hand: (3 + 4 + 7) / 3 = 14 / 3, where 8.8e18 nats count as 7."""
    found = value([3.0, 4.0, 8.8e18], 0, "minimize", 7.0)
    assert (found.score, found.mean) == (pytest.approx(14 / 3), pytest.approx(8.8e18 / 3))
    assert found.score == value([3.0, 4.0], 1, "minimize", 7.0).score, "as if it had become NaN"


def test_whole_numbers_too_large_for_numpy_are_pooled() -> None:
    """As PostgreSQL gives 1e30 back, of five seeds, from which on there is a mean of the middle half."""
    found = value([3, 4, 5, 6, 10**30], 0, "minimize", 7.0)
    assert (found.iqm, found.score) == (pytest.approx(5.0), pytest.approx(5.0))
    assert found.mean == pytest.approx(2e29)


def test_without_a_level_without_skill_the_score_is_the_mean() -> None:
    assert value([3.0, 8.8e18], 0, "minimize", None).score == pytest.approx(4.4e18)
