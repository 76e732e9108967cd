"""The best of k trials, against results worked out by hand and against all choices."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from normcore.spec.metric import Direction
from service.statistics.best_of import BestOf, Flip, Trial, best_of_each_number, flips
from tests.service.statistics.cases import CASES, is_as_expected, named


def trials(inputs: Mapping[str, Any]) -> list[Trial]:
    return [Trial(valid, test) for valid, test in zip(inputs["valid"], inputs["test"], strict=True)]


def flipped(a: Sequence[Trial], b: Sequence[Trial], direction: Direction) -> list[Flip]:
    return flips(best_of_each_number(a, direction), best_of_each_number(b, direction))


@named("best_of")
def test_the_best_of_k_is_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    inputs = case["inputs"]
    if "k" in inputs:
        assert is_as_expected(
            best_of_each_number(trials(inputs), inputs["direction"])[inputs["k"] - 1], case["expected"]
        )
    else:
        found = flipped(trials(inputs["a"]), trials(inputs["b"]), inputs["direction"])
        assert [flip.k for flip in found] == case["expected"]["flips"]
        assert [flip.is_uncertain for flip in found] == [False]


def test_cases_cover_calls_with_and_without_k() -> None:
    assert {"k" in case["inputs"] for case in CASES["best_of"]} == {True, False}


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_expected_best_of_k_is_the_mean_over_all_choices_of_k_trials(direction: Any) -> None:
    valid, test = np.random.default_rng(3).normal(size=(2, 6)).tolist()
    given = [Trial(None, 0.0), *map(Trial, valid, test)]
    better = max if direction == "maximize" else min
    worst = -np.inf if direction == "maximize" else np.inf
    for k in range(1, 8):
        chosen = [better(some, key=lambda t: worst if t.valid is None else t.valid) for some in combinations(given, k)]
        assert best_of_each_number(given, direction)[k - 1].expected == pytest.approx(
            fmean(trial.test for trial in chosen)
        )


def test_a_flip_beyond_half_of_the_trials_is_uncertain() -> None:
    a = [Trial(0.1, 0.1), Trial(0.2, 0.2), Trial(0.9, 0.9)]
    b = [Trial(0.5, 0.5), Trial(0.51, 0.51), Trial(0.52, 0.52)]
    assert flipped(a, b, "maximize") == [(2, True)]
    assert flipped(a, a, "maximize") == []


def test_a_flip_is_reported_after_a_number_of_trials_with_equal_values() -> None:
    a, b = ([Trial(float(k), test) for k, test in enumerate(tests)] for tests in ([0.0, 0.0, 1.0], [0.0, 2.0, 0.0]))
    both = (best_of_each_number(trials, "maximize") for trials in (a, b))
    differences = [of_a.expected - of_b.expected for of_a, of_b in zip(*both, strict=True)]
    assert differences == pytest.approx([-1 / 3, 0, 1])
    assert [flip.k for flip in flipped(a, b, "maximize")] == [3]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinite_values_are_refused(wrong: float) -> None:
    for trial in (Trial(wrong, 0.1), Trial(0.1, wrong), Trial(None, wrong)):
        with pytest.raises(ValueError, match="not a number"):
            best_of_each_number([trial, Trial(0.2, 0.2)], "maximize")


def test_no_trials_have_no_best() -> None:
    assert best_of_each_number([], "minimize") == []


def test_low_and_high_are_the_5_and_95_per_cent_points() -> None:
    """Hand computation: with one of fifteen, 1/15 lies at or below 1 and 14/15 at or below 14."""
    found = best_of_each_number([Trial(float(k), float(k)) for k in range(1, 16)], "maximize")[0]
    assert (found.low, found.high) == (1.0, 15.0)
    assert found.expected == pytest.approx(8)


def test_a_flip_beyond_half_of_the_shorter_search_is_uncertain() -> None:
    """One search has two trials, the other six. The order flips at 2, which is all that the first search has."""
    few, many = [BestOf(v, v, v) for v in (0.5, 0.7)], [BestOf(0.6, 0, 1)] * 6
    assert flips(few, many) == [Flip(2, True)]
    assert flips(many, few) == [Flip(2, True)]


@pytest.mark.parametrize("sign", [1, -1])
def test_two_searches_that_become_equal_do_not_flip(sign: int) -> None:
    one, other = [BestOf(sign * v, 0, 0) for v in (0.6, 0.7, 0.8)], [BestOf(sign * v, 0, 0) for v in (0.5, 0.7, 0.75)]
    assert flips(one, other) == []
