"""Pooling of results into entries: the runs that count, and their numbers, compared with numpy and scipy in float64."""

import json
import math
from dataclasses import asdict, replace
from random import Random
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from normcore.spec.metric import ACCURACY, ERROR_RATE, Metric
from service.leaderboards.entry import (
    EntryStatistics,
    RunResult,
    SucceededRuns,
    hardware_of_most_seeds,
    kernel_of,
    pool,
    read_pooled,
)

value = st.floats(0, 1)
METRICS: tuple[Metric, ...] = (ACCURACY, ERROR_RATE)


def items_of(metric: str) -> int | None:
    """Number of test items of a metric: 50 for accuracy, unknown for the error rate."""
    return 50 if metric == "accuracy" else None


def run(seed: int, value: float | None = 0.5, steps: float | None = 20.0, **parts: Any) -> RunResult:
    """A run of 40 updates, a tenth of a second each, that reached the target after ``steps``; None is a miss."""
    values = {} if value is None else {"accuracy": value, "error_rate": 1 - value}
    at = 40.0 if steps is None else steps
    usual = RunResult(
        run_id=f"run_{seed}",
        seed=seed,
        diverged=False,
        value=value,
        values=values,
        valid_value=value,
        no_skill=0.1,
        reached=steps is not None,
        steps=at,
        seconds=at / 10,
        max_steps=40,
        machine="a: cpu",
        hardware="cpu",
        kernel="fused",
        contended=False,
    )
    return replace(usual, **parts)


def evidence(*runs: RunResult) -> SucceededRuns:
    found = SucceededRuns()
    for one in runs:
        found = found.and_also(one)
    return found


def pooled(*runs: RunResult) -> EntryStatistics:
    return pool(evidence(*runs).results, METRICS, items_of)


@given(st.lists(value, min_size=2, max_size=20))
def test_mean_spread_and_interval_are_those_of_students_t(values: list[float]) -> None:
    got = pooled(*(run(seed, v) for seed, v in enumerate(values))).value
    assert got is not None
    assert got.n == len(values)
    assert got.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert got.std == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-9)
    assert got.ci95 is not None
    if np.std(values) > 1e-6:
        scale = scipy.stats.sem(values)
        low, high = scipy.stats.t.interval(0.97, len(values) - 1, loc=np.mean(values), scale=scale)
        low, high = min(low, np.mean(values) - 0.01), max(high, np.mean(values) + 0.01)  # half of one item in 50
        assert got.ci95 == pytest.approx((max(low, 0), min(high, 1)), rel=1e-6, abs=1e-6)


def test_a_run_that_explodes_counts_as_no_skill_in_score_and_validation() -> None:
    """Hand computation: score (.8 + .1) / 2 and validation (.7 + .1) / 2; the value is the measured one."""
    got = pooled(run(0, 0.8, valid_value=0.7), run(1, -8.8e18, valid_value=-8e18))
    assert got.score == pytest.approx(0.45)
    assert got.valid_value == pytest.approx(0.4)
    assert got.value is not None
    assert got.value.mean == pytest.approx(-4.4e18)


def test_each_metric_has_its_own_bounds_and_its_own_test_items() -> None:
    """Hand computation: three equal accuracies of .65, of 50 items, are known to half an item; their error rates
    have no resolution.
    """
    got = pooled(run(0, 0.65), run(1, 0.65), run(2, 0.65)).values
    assert got["accuracy"].std == 0
    assert got["accuracy"].ci95 == pytest.approx((0.64, 0.66))
    assert got["error_rate"].ci95 == pytest.approx((0.35, 0.35))
    got = pooled(run(0, 0.9), run(1, 1.0)).values
    assert got["accuracy"].ci95 == got["error_rate"].ci95 == (0, 1)


def test_without_a_level_without_skill_a_run_counts_as_measured() -> None:
    got = pooled(run(0, 0.8, no_skill=None), run(1, 0.04, no_skill=None))
    assert got.score == pytest.approx(0.42)
    assert got.valid_value == pytest.approx(0.42)


def test_an_interval_by_hand() -> None:
    got = pooled(run(0, 0.80), run(1, 0.84), run(2, 0.88)).value
    assert got is not None
    half = 5.6428 * 0.04 / math.sqrt(3)  # t(0.985, 2) from a table
    assert got.ci95 == pytest.approx((0.84 - half, 0.84 + half), abs=1e-4)


def test_one_seed_has_a_mean_and_no_spread() -> None:
    got = pooled(run(0, 0.7)).value
    assert got is not None
    assert (got.mean, got.std, got.ci95, got.n, got.iqm) == (0.7, None, None, 1, None)


@given(st.lists(value, min_size=1, max_size=8), st.integers(1, 5), st.randoms())
def test_repeating_seeds_changes_nothing_but_their_number(values: list[float], times: int, random: Random) -> None:
    runs = [run(seed, v) for seed, v in enumerate(values) for _ in range(times)]
    random.shuffle(runs)
    got = evidence(*runs)
    assert (got.n_runs, [r.seed for r in got.results]) == (times * len(values), list(range(len(values))))
    assert got.conflicting_seeds == []
    assert pool(got.results, METRICS, items_of) == pooled(*(run(seed, v) for seed, v in enumerate(values)))


def test_the_first_run_of_a_seed_that_was_alone_on_its_machine_counts() -> None:
    busy, alone, later = (run(0, run_id=name, contended=name == "busy") for name in ("busy", "alone", "later"))
    assert [r.run_id for r in evidence(busy, alone, later).results] == ["alone"]
    assert [r.run_id for r in evidence(later, busy).results] == ["later"]
    assert [r.run_id for r in evidence(busy, replace(busy, run_id="again")).results] == ["busy"]


@pytest.mark.parametrize(
    ("other", "conflicts"),
    [
        ({"value": 0.6}, True),
        ({"steps": 21.0}, True),
        ({"seconds": 9.0}, False),
        ({"value": 0.6, "machine": "b: cpu"}, False),
        ({"run_id": "again"}, False),
    ],
)
def test_a_seed_with_different_numbers_from_one_machine_conflicts(other: dict[str, Any], conflicts: bool) -> None:
    got = evidence(run(3), run(4), replace(run(4), **other))
    assert got.conflicting_seeds == ([4] if conflicts else [])
    assert got.results[1].value == 0.5, "nothing is averaged away"


@pytest.mark.parametrize(
    ("runs", "conflicts"),
    [
        (["a .5 alone", "b .5 alone", "b .6 alone"], True),  # the run of another machine counts
        (["a .5 busy", "b .5 alone", "a .6 alone"], True),  # the busy run of this machine counted at first
        (["a .5 alone", "b .6 alone", "c .7 alone"], False),
        (["a .5 alone", "b .6 alone", "b .6 busy", "a .5 alone"], False),
    ],
)
@pytest.mark.parametrize("stored", [False, True])
def test_different_numbers_of_one_machine_conflict_even_if_it_does_not_count(
    runs: list[str], conflicts: bool, stored: bool
) -> None:
    got = SucceededRuns()
    for machine, value, how in map(str.split, runs):
        got = got.and_also(run(4, float(value), machine=machine, contended=how == "busy"))
        if stored:
            results = [RunResult(**json.loads(json.dumps(asdict(result)))) for result in got.results]
            got = replace(got, results=results)
    assert got.conflicting_seeds == ([4] if conflicts else [])
    assert got.results[0].numbers == (0.5, 20.0)


def test_a_diverged_run_is_worth_no_skill_and_its_value_counts_for_nothing() -> None:
    got = pooled(run(0, 0.80), run(1, 0.84), run(2, 0.88), run(3, 0.99, diverged=True))
    assert got.value is not None
    assert (got.n_seeds, got.n_diverged, got.value.n) == (4, 1, 3)
    assert (got.value.mean, got.score) == pytest.approx((0.84, 0.655))
    assert got.diverged_ci95 == pytest.approx((0.0063, 0.8059), abs=1e-4)  # Clopper and Pearson, of 1 in 4
    assert got.values["error_rate"].mean == pytest.approx(0.16)
    assert got.valid_value == pytest.approx(0.84)


def test_an_entry_whose_runs_all_diverged_has_no_score() -> None:
    got = pooled(run(0, None, None, diverged=True), run(1, 0.3, None, diverged=True))
    assert (got.value, got.values, got.score, got.valid_value) == (None, {}, None, None)
    assert (got.n_seeds, got.n_diverged) == (2, 2)


def test_older_runs_without_a_level_of_no_skill_have_no_score_if_one_diverged() -> None:
    whole = pooled(run(0, 0.8, no_skill=None), run(1, 0.6, no_skill=None))
    assert whole.score == pytest.approx(0.7)
    assert pooled(run(0, 0.8, no_skill=None), run(1, diverged=True, no_skill=None)).score is None


def test_a_miss_takes_longer_than_it_was_watched() -> None:
    got = pooled(run(0, steps=10.0), run(1, steps=14.0), run(2, steps=None))
    assert (got.steps.median, got.steps.reached, got.steps.ci95) == (14.0, 2, None)
    assert [time for time, _ in got.steps.left] == [10.0, 14.0, 40.0]
    assert [share for _, share in got.steps.left] == pytest.approx([2 / 3, 1 / 3, 1 / 3])
    assert (got.seconds.median, got.seconds.reached) == (1.4, 2)
    none = pooled(run(0, steps=None), run(1, steps=None))
    assert (none.steps.median, none.steps.reached) == (None, 0)


def test_a_run_without_the_boards_target_has_no_time() -> None:
    got = pooled(run(0, reached=None), run(1, reached=None))
    assert (got.steps.median, got.steps.reached, got.steps.left) == (None, 0, [])


def test_seconds_count_runs_alone_on_the_hardware_with_the_most_seeds() -> None:
    runs = [run(0, hardware="A"), run(1, hardware="B"), run(2, steps=30.0, hardware="B"), run(3, contended=True)]
    got = pooled(*runs)
    assert (got.hardware, got.contended, got.seconds.reached, got.seconds.median) == ("B", 1, 2, 2.5)
    assert got.steps.reached == 4, "steps stay"
    assert hardware_of_most_seeds(runs[:2]) == "A", "the first by name"
    assert pooled(run(0, contended=True)).hardware is None
    assert pooled(run(0, contended=True)).seconds.left == []


def test_an_entry_without_runs_has_no_values() -> None:
    got = pooled()
    assert (got.n_seeds, got.n_diverged, got.diverged_ci95, got.value, got.score) == (0, 0, None, None, None)
    assert (got.steps.median, got.steps.reached, got.hardware, got.kernel) == (None, 0, None, None)


def test_a_pooled_entry_comes_back_from_its_stored_json() -> None:
    for got in (pooled(*(run(seed, 0.1 * seed, 10.0 + seed) for seed in range(7))), pooled(run(0, None, None))):
        assert asdict(read_pooled(json.loads(json.dumps(asdict(got))))) == asdict(got)


@pytest.mark.parametrize(
    ("runs", "kernel"),
    [
        ([], None),
        ([None, None], None),
        (["fused", "fused"], "fused"),
        (["reference", None], "reference"),  # older runs have no record of their kernel
        (["fused", "reference"], "mixed"),
        (["fused reference"], "mixed"),  # two recurrent networks in one model
    ],
)
def test_runs_of_different_kernels_make_a_mixed_entry(runs: list[str | None], kernel: str | None) -> None:
    assert kernel_of(runs) == kernel
