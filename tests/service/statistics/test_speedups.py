"""Speed-ups and their parts, against results worked out by hand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normcore.target import Time
from service.statistics.speedups import speedup, speedups
from tests.service.statistics.cases import is_as_expected, named


def by_seed(runs: Mapping[str, Mapping[str, Any]]) -> dict[int, Time]:
    return {int(seed): Time(run["reached"], run["steps"], run["seconds"]) for seed, run in runs.items()}


@named("speedup")
def test_speedups_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    found = speedup(*(by_seed(case["inputs"][of]) for of in ("baseline", "own")))
    assert is_as_expected(found, case["expected"])
    if found.steps and found.seconds_per_step and found.total:
        assert found.total.ratio == pytest.approx(found.steps.ratio * found.seconds_per_step.ratio, rel=1e-12)


def test_there_is_no_speedup_without_runs() -> None:
    assert speedup({}, {}) == (0, None, None, None, None)


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        speedup({0: Time(True, 10.0, -1.0)}, {0: Time(True, 10.0, 1.0)})


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_interval_holds_the_true_ratio_in_95_of_100(n: int) -> None:
    generator, repetitions = np.random.default_rng(11), 300
    held = 0
    for rows in np.exp(0.3 * generator.normal(size=(repetitions, 2, n))).tolist():
        baseline, own = ({seed: Time(True, t, t) for seed, t in enumerate(row)} for row in rows)
        found = speedup(baseline, own).steps
        assert found is not None
        assert found.ci95 is not None
        held += found.ci95[0] <= 1 <= found.ci95[1]
    error = 3 * (0.95 * 0.05 / repetitions) ** 0.5
    assert 0.93 - error <= held / repetitions <= 0.98 + error


spent = st.one_of(st.just(0.0), st.floats(0.5, 500))
seeds = st.dictionaries(st.integers(0, 8), st.builds(Time, st.booleans(), spent, spent), max_size=8)


@given(st.lists(st.tuples(seeds, seeds), max_size=5))
def test_many_speedups_at_once_agree_with_each_alone(pairs: list[tuple[dict[int, Time], dict[int, Time]]]) -> None:
    for found, (baseline, own) in zip(speedups(pairs), pairs, strict=True):
        alone = speedup(baseline, own)
        assert found[:2] == alone[:2]
        for one, other in zip(found[2:], alone[2:], strict=True):
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                assert one.ratio == pytest.approx(other.ratio)
                assert one.ci95 == (other.ci95 and pytest.approx(other.ci95))


@pytest.mark.parametrize("nothing", [Time(True, 0.0, 1.0), Time(True, 10.0, 0.0)])
def test_times_of_0_give_no_ratio(nothing: Time) -> None:
    found = speedup({0: Time(True, 10.0, 1.0)}, {0: nothing})
    assert (found.steps, found.seconds_per_step, found.total, found.seeds) == (None, None, None, 1)
    assert speedup({0: nothing}, {0: Time(True, 10.0, 1.0)}).total is None
