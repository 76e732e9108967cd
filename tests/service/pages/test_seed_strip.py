"""The strip of an experiment's seeds."""

from typing import Any

import pytest

from service.experiments import examples
from service.experiments.schemas import RunOut
from service.pages.seed_strip import Strip, seed_strip


def run(seed: int, state: str = "succeeded", **changes: Any) -> RunOut:
    return examples.RUN.model_copy(update={"id": f"run_{seed}", "seed": seed, "state": state, **changes})


def strip(runs: list[RunOut], values: dict[str, float], direction: Any = "maximize") -> Strip:
    found = seed_strip(runs, values, "accuracy", direction)
    assert found is not None
    return found


RUNS = [
    run(0, "failed"),
    run(1, outcome="diverged"),
    run(2, "queued"),
    run(3, "running"),
    run(4, "cancelled"),
    *(run(seed) for seed in range(5, 12)),
]
VALUES = {f"run_{seed}": 0.9 + 0.01 * (seed % 7) for seed in range(5, 12)}


def test_ten_seeds_need_no_strip() -> None:
    assert seed_strip([run(seed) for seed in range(10)], {}, "accuracy", "maximize") is None


def test_marks_begin_with_the_best_seed_and_end_with_seeds_without_a_value() -> None:
    found = strip(RUNS, VALUES)
    assert [int(mark.run_id.removeprefix("run_")) for mark in found.marks] == [6, 5, 11, 10, 9, 8, 7, 3, 2, 4, 1, 0]
    assert [mark.text for mark in found.marks][:1] == ["seed 6: 96.00%, succeeded"]
    assert [mark.text for mark in found.marks][-2:] == ["seed 1: diverged", "seed 0: failed"]
    assert found.counts == [
        ("succeeded", 7),
        ("running", 1),
        ("queued", 1),
        ("cancelled", 1),
        ("diverged", 1),
        ("failed", 1),
    ]


def test_the_smallest_value_comes_first_where_less_is_better() -> None:
    assert strip(RUNS, VALUES, "minimize").marks[0].run_id == "run_7"


def test_the_spread_has_a_tick_for_each_value() -> None:
    found = strip(RUNS, VALUES)
    assert (found.low, found.middle, found.high) == ("90.00%", "93.00%", "96.00%")
    assert (found.ticks.count("M"), found.median) == (7, 500)
    assert (found.ticks[:8], found.ticks[-9:]) == ("M10 4v16", "M990 4v16")


@pytest.mark.parametrize("values", [{}, {"run_5": 0.5}, {"run_5": 0.5, "run_6": 0.5}])
def test_values_that_do_not_differ_have_no_spread(values: dict[str, float]) -> None:
    assert strip(RUNS, values).ticks == ""
