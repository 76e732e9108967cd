"""A board of an order's specs agrees with the order, cannot tell, or says the opposite."""

import math
from collections.abc import Sequence

import pytest
from scipy.stats import ttest_ind

from benchmarks.reproductions.sections import TO_THE_TARGET, Order
from benchmarks.reproductions.seeds import Seeds
from benchmarks.reproductions.verdicts import Step, describe, summarize, verdict
from normcore.target import Time

FIRST, SECOND, THIRD = (0.9, 0.91, 0.92), (0.8, 0.84, 0.88), (0.5, 0.51, 0.52)


def of(*values: float) -> Seeds:
    return Seeds(values=dict(enumerate(values)), score=math.fsum(values) / len(values))


def timed(*times: tuple[bool, float], first_evaluation: int = 10) -> Seeds:
    runs = {seed: Time(reached, steps, steps / 10) for seed, (reached, steps) in enumerate(times)}
    return Seeds(values={}, score=None, times=runs, max_steps=400, first_evaluation=first_evaluation)


def order(*names: str, by: str = "") -> Order:
    return Order(source="LN", best_first=names, by=by)


def steps_of(asked: Order, **seeds: Seeds) -> Sequence[Step]:
    found = verdict(asked, seeds, "maximize")
    assert found is not None
    return found


def raw_p(a: Sequence[float], b: Sequence[float]) -> float:
    return float(ttest_ind(a, b, equal_var=False).pvalue)


def test_p_of_a_chain_is_corrected_for_all_pairs_of_its_specs() -> None:
    """Holm's correction multiplies the p-values .000001, .0032 and .086 by 3, 2 and 1."""
    found = steps_of(order("a", "b", "c"), a=of(*FIRST), b=of(*SECOND), c=of(*THIRD))
    assert [step.outcome for step in found] == ["cannot tell", "agrees"]
    assert found[0].p_value == pytest.approx(raw_p(FIRST, SECOND))
    assert found[1].p_value == pytest.approx(2 * raw_p(SECOND, THIRD))
    assert summarize(found) == "agrees with 1 of 2 steps"
    assert "a before b: cannot tell, a is better by 0.07" in describe(order("a", "b", "c"), found)


def test_a_step_in_the_opposite_order_is_counted() -> None:
    found = steps_of(order("c", "b", "a"), a=of(*FIRST), b=of(*SECOND), c=of(*THIRD))
    assert summarize(found) == "agrees with 0 of 2 steps, says the opposite of 1"
    assert found[0].size == pytest.approx(-0.33)
    assert found[0].outcome == "says the opposite"


def test_a_spec_with_a_diverged_seed_is_not_above_one_that_always_converged() -> None:
    """Two seeds at .9 and a diverged seed, which counts as .1, have a lower score than three seeds at .8."""
    survivors = Seeds(values={0: 0.9, 1: 0.901, 2: None}, score=(0.9 + 0.901 + 0.1) / 3)
    [step] = steps_of(order("a", "b"), a=survivors, b=of(0.8, 0.801, 0.799))
    assert (step.outcome, step.p_value < 0.01) == ("cannot tell", True)


def test_a_lower_loss_is_better_and_one_that_is_not_finite_comes_last() -> None:
    low = Seeds(values={}, score=None, shown={0: 1.0, 1: 1.01, 2: 0.99})
    high = Seeds(values={}, score=None, shown={0: 2.0, 1: 2.01, 2: 2.02})
    asked = order("a", "b", by="valid.loss")
    [step] = steps_of(asked, a=low, b=high)
    assert step.outcome == "agrees"
    assert step.size == pytest.approx(1.01)
    assert step.ci95 is not None
    assert step.ci95[0] < 1.01 < step.ci95[1]
    exploded = low.model_copy(update={"shown": {0: 1.0, 1: 1.01, 2: None}})
    assert steps_of(asked, a=exploded, b=high)[0].outcome == "cannot tell"


def test_times_are_compared_by_their_ratio() -> None:
    fast, slow = timed((True, 20), (True, 22), (True, 24)), timed((True, 40), (True, 60), (True, 60))
    [step] = steps_of(order("a", "b", by=TO_THE_TARGET), a=fast, b=slow)
    assert (step.outcome, step.bound) == ("agrees", "")
    assert step.size == pytest.approx(2.3891, abs=1e-4)
    assert step.ci95 == pytest.approx((1.4413, 3.9602), abs=1e-4)
    [step] = steps_of(order("b", "a", by=TO_THE_TARGET), a=fast, b=slow)
    assert step.outcome == "says the opposite"
    assert step.size == pytest.approx(1 / 2.3891, abs=1e-4)


def test_a_miss_or_a_hit_at_the_first_evaluation_makes_a_bound_but_not_both() -> None:
    fast, slow = timed((True, 20), (True, 22), (True, 24)), timed((True, 40), (True, 60), (True, 60))
    missed = timed((True, 40), (True, 60), (False, 390))
    at_first = timed((True, 10), (True, 10), (True, 12))
    by = {"by": TO_THE_TARGET}
    assert steps_of(order("a", "b", **by), a=fast, b=missed)[0].bound == "at least"
    assert steps_of(order("a", "b", **by), a=missed, b=fast)[0].bound == "at most"
    assert steps_of(order("a", "b", **by), a=at_first, b=slow)[0].bound == "at least"
    assert steps_of(order("a", "b", **by), a=slow, b=at_first)[0].bound == "at most"
    both = steps_of(order("a", "b", **by), a=at_first, b=at_first)
    assert (both[0].size, both[0].outcome) == (None, "cannot tell")
    assert "how many times the updates of a b takes is not known" in describe(order("a", "b", **by), both)


def test_no_time_counts_beyond_the_first_miss() -> None:
    """The miss is censored at 100, so 160 and 170 count as 100, too."""
    fast, slow = timed((True, 20), (True, 22), (False, 100)), timed((True, 40), (True, 160), (True, 170))
    [step] = steps_of(order("a", "b", by=TO_THE_TARGET), a=fast, b=slow)
    logs = [[math.log(min(time, 100)) for time in times] for times in ((20, 22, 100), (40, 160, 170))]
    assert step.p_value == pytest.approx(raw_p(*logs))


def test_without_the_results_of_a_spec_there_is_no_verdict() -> None:
    assert verdict(order("a", "b"), {"a": of(*FIRST)}, "maximize") is None
    assert verdict(order("a", "b", by=TO_THE_TARGET), {"a": of(*FIRST), "b": of(*SECOND)}, "maximize") is None
    assert verdict(order("a", "b", by="valid.loss"), {"a": of(*FIRST), "b": of(*SECOND)}, "maximize") is None


def test_one_seed_has_no_test() -> None:
    found = steps_of(order("a", "b"), a=of(0.9), b=of(0.1))
    assert summarize(found) == "has no test"
    assert (
        describe(order("a", "b"), found) == "**The board has no test**: a test takes two converged seeds of each spec."
    )
