"""Pooling and ranking against an independent computation with numpy and scipy in float64."""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from service.leaderboards.ranking import RunResult, center, kernel_of, pool, ranks, ratio

value = st.floats(-100, 100, allow_nan=False)


def run(seed: int, value: float | None = 0.5, steps: float | None = None, *, diverged: bool = False) -> RunResult:
    values = {} if value is None else {"accuracy": value}
    return RunResult(seed, diverged, value, values, steps, None if steps is None else steps / 10)


@given(st.lists(value, min_size=2, max_size=30))
def test_mean_spread_and_interval_are_those_of_students_t(values: list[float]) -> None:
    got = center(values)
    mean, std = np.mean(values), np.std(values, ddof=1)
    assert got.mean == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert got.std == pytest.approx(std, rel=1e-6, abs=1e-9)
    assert got.ci95 is not None
    if std > 1e-6:
        low, high = scipy.stats.t.interval(0.95, len(values) - 1, loc=mean, scale=scipy.stats.sem(values))
        assert got.ci95 == pytest.approx((low, high), rel=1e-6, abs=1e-6)
    assert got.ci95[0] <= got.mean <= got.ci95[1]


def test_an_interval_by_hand() -> None:
    got = center([0.80, 0.84, 0.88])
    assert got.mean == pytest.approx(0.84)
    assert got.std == pytest.approx(0.04)
    half = 4.302652729911275 * 0.04 / math.sqrt(3)  # t(0.975, 2) from a table
    assert got.ci95 == pytest.approx((0.84 - half, 0.84 + half))


def test_one_seed_has_a_mean_and_no_spread() -> None:
    got = pool([run(0, 0.7)])
    assert got.value is not None
    assert (got.value.mean, got.value.std, got.value.ci95) == (0.7, None, None)


@given(st.lists(value, min_size=2, max_size=8), st.integers(1, 5), st.randoms())
def test_repeating_seeds_does_not_narrow_the_interval(values: list[float], times: int, random: Random) -> None:
    once = pool(run(seed, v) for seed, v in enumerate(values))
    runs = [run(seed, v) for seed, v in enumerate(values) for _ in range(times)]
    random.shuffle(runs)
    often = pool(runs)
    assert (often.n_runs, often.n_seeds) == (times * len(values), len(values))
    assert often.value is not None
    assert once.value is not None
    assert often.value.mean == pytest.approx(once.value.mean, rel=1e-9, abs=1e-12)
    assert often.value.ci95 == pytest.approx(once.value.ci95, rel=1e-6, abs=1e-9)


def test_runs_of_one_seed_are_averaged_before_seeds_are() -> None:
    got = pool([run(0, 0.0), run(0, 1.0), run(0, 0.5), run(1, 0.9)])
    assert got.value is not None
    assert got.value.mean == pytest.approx((0.5 + 0.9) / 2)


@given(st.lists(st.one_of(st.none(), st.floats(1, 1e6)), min_size=1, max_size=15))
def test_a_seed_that_never_reached_the_target_counts_as_infinitely_late(steps: list[float | None]) -> None:
    got = pool(run(seed, steps=s) for seed, s in enumerate(steps))
    expected = float(np.median([np.inf if s is None else s for s in steps]))
    for time, scale in ((got.steps_to_target, 1), (got.seconds_to_target, 10)):
        assert time.reached == sum(s is not None for s in steps)
        if math.isfinite(expected):
            assert time.median == pytest.approx(expected / scale)
        else:
            assert time.median is None


def test_a_diverged_run_counts_as_a_run_and_its_value_only_if_it_has_one() -> None:
    got = pool([run(0, 0.8, 100), run(1, None, diverged=True), run(2, 0.2, diverged=True)])
    assert (got.n_runs, got.n_seeds, got.n_diverged) == (3, 3, 2)
    assert got.value is not None
    assert got.value.mean == pytest.approx(0.5)
    assert (got.steps_to_target.median, got.steps_to_target.reached) == (None, 1)


def test_nothing_pooled_is_nothing_known() -> None:
    got = pool([])
    assert (got.n_runs, got.n_seeds, got.n_diverged, got.value) == (0, 0, 0, None)
    assert (got.steps_to_target.median, got.steps_to_target.reached) == (None, 0)


@pytest.mark.parametrize(
    ("centers", "highest_first", "lowest_first"),
    [
        ([0.9, 0.7, 0.8], [1, 3, 2], [3, 1, 2]),
        ([0.8, 0.9, 0.8, 0.1], [2, 1, 2, 4], [2, 4, 2, 1]),
        ([None, 0.5, None], [2, 1, 2], [2, 1, 2]),
        ([0.5, 0.5, 0.5], [1, 1, 1], [1, 1, 1]),
        ([-1.0, 0.0, None], [2, 1, 3], [1, 2, 3]),
        ([], [], []),
    ],
)
def test_equal_ones_share_a_rank_and_the_unknown_come_last(
    centers: Sequence[float | None], highest_first: list[int], lowest_first: list[int]
) -> None:
    all_count = [True] * len(centers)
    assert ranks(centers, all_count, "maximize") == highest_first
    assert ranks(centers, all_count, "minimize") == lowest_first


@given(st.lists(st.tuples(st.one_of(st.none(), value), st.booleans()), max_size=12))
def test_a_rank_is_one_more_than_the_number_of_better_ones_that_count(entries: list[tuple[float | None, bool]]) -> None:
    centers, counts = [center for center, _ in entries], [counted for _, counted in entries]
    for own, rank in zip(centers, ranks(centers, counts, "maximize"), strict=True):
        better = sum(counted and c is not None and (own is None or c > own) for c, counted in entries)
        assert rank == 1 + better


@given(st.lists(st.tuples(st.one_of(st.none(), value), st.booleans()), max_size=12))
def test_entries_that_do_not_count_move_none(entries: list[tuple[float | None, bool]]) -> None:
    counting = [center for center, counted in entries if counted]
    among_all = ranks([center for center, _ in entries], [counted for _, counted in entries], "minimize")
    alone = ranks(counting, [True] * len(counting), "minimize")
    assert [rank for rank, (_, counted) in zip(among_all, entries, strict=True) if counted] == alone


def test_a_ratio_needs_both_times() -> None:
    assert ratio(300, 120) == 2.5
    assert ratio(None, 120) is None
    assert ratio(300, None) is None
    assert ratio(300, 0) is None


@pytest.mark.parametrize(
    ("runs", "kernel"),
    [
        ([], None),
        ([None, None], None),
        (["fused", "fused"], "fused"),
        (["reference", None], "reference"),  # of a run from before it was kept nothing is known
        (["fused", "reference"], "mixed"),
        (["fused reference"], "mixed"),  # two recurrent networks in one model
    ],
)
def test_the_kernel_of_runs_is_the_one_that_all_had(runs: list[str | None], kernel: str | None) -> None:
    assert kernel_of(runs) == kernel
