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
