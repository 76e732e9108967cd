"""Orders with ties, against results worked out by hand, and in simulations."""

from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
import pytest

from normcore.spec.metric import Direction
from service.statistics.differences import pairs
from service.statistics.order import RankEstimate, board, key_of, rank_beside
from service.statistics.values import value
from tests.service.statistics.cases import is_as_expected, named
from tests.service.statistics.test_differences import by_seed


class RanksAndP(NamedTuple):
    """A board by the names of its entries."""

    ranks: Mapping[str, RankEstimate]
    p_holm: Mapping[str, float]


def ordered(values: Mapping[str, Mapping[int, float]], direction: Direction = "maximize", **diverged: int) -> RanksAndP:
    """Order of entries; the level without skill is 0.1, or 9 where lower is better."""
    names, no_skill = list(values), 0.1 if direction == "maximize" else 9.0
    scores = [
        value(list(own.values()), diverged.get(name, 0), direction, no_skill).score for name, own in values.items()
    ]
    keys = [key_of(score, direction) for score in scores]
    found = board(keys, direction, pairs(list(values.values())))
    p_holm = {
        f"{min(a, b)}|{max(a, b)}": found.p_holm[j, k]
        for (j, a), (k, b) in combinations(enumerate(names), 2)
        if not np.isnan(found.p_holm[j, k])
    }
    return RanksAndP(dict(zip(names, found.ranks, strict=True)), p_holm)


@named("board")
def test_orders_of_boards_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    inputs, expected = case["inputs"], case["expected"]
    assert (inputs["direction"], inputs["no_skill"]) == ("maximize", 0.1)
    entries = {name: given for name, given in inputs.items() if isinstance(given, dict) and "values" in given}
    values = {name: by_seed(entry["values"]) for name, entry in entries.items()}
    found = ordered(values, **{name: entry["n_diverged"] for name, entry in entries.items()})
    for what in ("rank", "rank_ci", "tie_group"):
        assert is_as_expected({name: getattr(rank, what) for name, rank in found.ranks.items()}, expected[what])
    assert is_as_expected(found.p_holm, expected["p_holm"])
    keys = [key_of(value(list(own.values()), 0, "maximize", 0.1).score, "maximize") for own in values.values()]
    for name, score in inputs.get("published", {}).items():
        assert rank_beside(key_of(score, "maximize"), keys) == expected["published_rank"][name]


def test_places_do_not_depend_on_the_order_of_entries_that_are_equal() -> None:
    """Two entries have equal scores: the entry with the larger spread ties with the first, the other entry does not."""
    values = {
        "head": dict(enumerate([0.90, 0.91, 0.92, 0.90, 0.91])),
        "scattered": dict(enumerate([0.25, 0.95, 0.95, 0.95, 0.40])),
        "steady": dict(enumerate([0.70, 0.70, 0.70, 0.69, 0.71])),
    }
    expected = {
        "head": RankEstimate(1, (1, 2), 1),
        "scattered": RankEstimate(2, (1, 3), 1),
        "steady": RankEstimate(2, (2, 3), 2),
    }
    for names in permutations(values):
        assert ordered({name: values[name] for name in names}).ranks == expected


def test_lower_is_better_where_the_metric_says_so() -> None:
    found = ordered({"high": {0: 3.0, 1: 3.1, 2: 3.2}, "low": {0: 1.0, 1: 1.1, 2: 1.2}}, "minimize").ranks
    assert found == {"low": RankEstimate(1, (1, 1), 1), "high": RankEstimate(2, (2, 2), 2)}
    keys = [key_of(score, "minimize") for score in (1.1, 3.1, None)]
    assert [rank_beside(key_of(score, "minimize"), keys) for score in (1.1, 2.0, 4.0, None)] == [1, 2, 3, 3]


def test_equal_scores_share_a_rank() -> None:
    found = ordered({"a": {0: 0.5}, "b": {0: 0.5}, "c": {0: 0.4}}).ranks
    assert {name: rank.rank for name, rank in found.items()} == {"a": 1, "b": 1, "c": 3}
    assert {rank.rank_ci for rank in found.values()} == {(1, 3)}, "nothing can be tested"


def test_above_needs_a_small_p_and_a_better_score() -> None:
    values = [{0: 0.90, 1: 0.91, 2: 0.92}, {0: 0.70, 1: 0.71, 2: 0.72}, {0: 0.95, 1: 0.96}]
    keys = [key_of(score, "maximize") for score in (0.91, 0.71, 0.44)]
    found = board(keys, "maximize", pairs(values))
    assert found.p_holm[2, 1] <= 0.05, "the converged seeds of the last are better"
    assert found.above.tolist() == [[False, True, False], [False, False, False], [False, False, False]]


def test_an_entry_without_a_score_does_not_count_in_rank_intervals() -> None:
    """Seeds that diverged before levels without skill were stored give no score: ranks are counted among the scored
    entries alone.
    """
    values = [{0: 0.90, 1: 0.91, 2: 0.92}, {0: 0.905, 1: 0.915, 2: 0.925}, {0: 0.70, 1: 0.71, 2: 0.72}]
    found = board([key_of(0.91, "maximize"), key_of(0.915, "maximize"), None], "maximize", pairs(values))
    assert found.ranks == [RankEstimate(2, (1, 2), 1), RankEstimate(1, (1, 2), 1), RankEstimate(3, None, None)]


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_board_of_four_equal_entries_is_wrong_in_1_of_20_cases(n: int) -> None:
    generator, repetitions = np.random.default_rng(7), 150
    wrong = 0
    for sample in generator.normal(size=(repetitions, 4, n)).tolist():
        values = {name: dict(enumerate(row)) for name, row in zip("abcd", sample, strict=True)}
        wrong += any(rank.rank_ci != (1, 4) for rank in ordered(values).ranks.values())
    assert wrong / repetitions <= 0.075 + 3 * (0.05 * 0.95 / repetitions) ** 0.5


@pytest.mark.parametrize("n", [3, 5, 10])
def test_all_true_ranks_are_within_their_intervals_at_once(n: int) -> None:
    generator, repetitions = np.random.default_rng(8), 120
    held = 0
    for sample in generator.normal(size=(repetitions, 5, n)):
        rows = (sample - np.array([[0], [0], [1], [2], [4]])).tolist()
        values = {name: dict(enumerate(row)) for name, row in zip("abcde", rows, strict=True)}
        ranks = ordered(values).ranks
        true = {"a": (1, 2), "b": (1, 2), "c": (3, 3), "d": (4, 4), "e": (5, 5)}
        intervals = {name: rank.rank_ci for name, rank in ranks.items()}
        held += all(
            (ci := intervals[name]) is not None and ci[0] <= low and high <= ci[1] for name, (low, high) in true.items()
        )
    assert held / repetitions >= 0.95 - 3 * (0.05 * 0.95 / repetitions) ** 0.5
