"""The made-up boards of the benchmark are judged as the service judges boards."""

import numpy as np
import pytest

from benchmarks.skewed_seeds import RULES, adjusted, apart, equal_means, false_boundaries, tied_neighbours
from service.statistics.differences import pair, pairs
from service.statistics.order import board


def test_the_paired_rule_gives_the_p_values_of_boards() -> None:
    draws = equal_means(np.random.default_rng(0), 3, 5)["normal"]
    found = adjusted(draws, "paired")
    for k in range(3):
        of_board = board([(0.0,)] * 4, "maximize", pairs([dict(enumerate(entry[k])) for entry in draws])).p_holm
        assert np.minimum(found[:, k], 1) == pytest.approx(of_board[np.triu_indices(4, 1)])


def test_the_unshared_rule_gives_the_p_values_of_welchs_test() -> None:
    [a, b, *_] = apart(np.random.default_rng(0), 3, 4)["2 sd"]
    for k in range(3):
        found = pair(dict(enumerate(a[k])), dict(enumerate(b[k])))
        assert found is not None
        assert RULES["unshared"](a, b)[k] == pytest.approx(found.p_value)


def test_halls_correction_without_skewness_changes_nothing() -> None:
    """Differences of -1, 0 and 1 around .5 have no skewness: t = .5 sqrt(3) / 1."""
    a, b = np.array([[-0.5, 0.5, 1.5]]), np.zeros((1, 3))
    assert RULES["skewness"](a, b) == pytest.approx(RULES["paired"](a, b))


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("normal", 0.03, 0.06), ("lognormal .5", 0.02, 0.05), ("opposite, lognormal .7", 0.075, 0.115)],
)
def test_false_boundaries_are_as_often_as_the_page_says(name: str, least: float, most: float) -> None:
    draws = equal_means(np.random.default_rng(1), 4000, 5)[name]
    assert least < false_boundaries(draws, "paired") < most


def test_few_entries_with_clear_differences_stay_tied() -> None:
    draws = apart(np.random.default_rng(1), 2000, 5)
    assert tied_neighbours(draws["4 sd"], "paired") < 0.02
    assert 0.45 < tied_neighbours(draws["2 sd"], "paired") < 0.60
