"""The cells of a sweep as a list: its order, its filters, its pages."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from normcore.spec.metric import Metric
from normcore.spec.tasks import BENCHMARKS
from service.leaderboards.entry import Estimate
from service.pages.cells import list_cells, order_numbers, shade, show_cells
from service.pages.sweep_choices import SweepChoices
from service.sweeps.examples import MEASURED, RUNNING, SWEEP
from service.sweeps.levels import fields_of
from service.sweeps.schemas import Sweep, SweepCell

ACCURACY = BENCHMARKS["permuted_digits"].metric()
BITS = BENCHMARKS["char_lm"].metric()
LR, EPS = "training.optimizer.lr", "norm.eps"


def cell(value: float | None, *, n_seeds: int = 3, **values: Any) -> SweepCell:
    """A cell with this test and validation value; a cell that runs if the value is None."""
    assert MEASURED.entry is not None
    if value is None:
        return replace(RUNNING, values=values, fingerprint=repr(values))
    pooled = Estimate(mean=value, std=None, ci95=None, n=1, iqm=None)
    entry = replace(MEASURED.entry, value=pooled, valid_value=value, score=value, n_seeds=n_seeds)
    return replace(MEASURED, values=values, fingerprint=repr(values), entry=entry)


def sweep_of(cells: Sequence[SweepCell], **more: Any) -> Sweep:
    grid = {path: [one.values[path] for one in cells] for path in cells[0].values}
    return replace(SWEEP, grid=grid, cells=[*cells], best=cells[0], **more)


def listed(sweep: Sweep, metric: Metric | None = ACCURACY, **chosen: Any) -> list[Any]:
    """Test values of the cells of a page."""
    fields = fields_of(sweep)
    choices = SweepChoices(**chosen).check(fields)
    return [one.value for one in list_cells(show_cells(sweep), fields, metric, choices).cells]


def test_shades_go_from_the_worst_to_the_best_whichever_way_is_better() -> None:
    ordered = order_numbers([1.0, 1.5, 2.0, float("inf")], ACCURACY)
    assert [shade(value, ordered) for value in (1.0, 1.5, 2.0, None, float("inf"))] == [0, 2, 4, None, None]
    assert [shade(value, order_numbers([1.0, 1.5, 2.0], BITS)) for value in (1.0, 1.5, 2.0)] == [4, 2, 0]
    assert order_numbers([1.0], None) == []
    assert shade(1.0, [1.0]) == 4


def test_one_bad_value_does_not_make_all_others_look_alike() -> None:
    ordered = order_numbers([0.1, 0.90, 0.91, 0.92, 0.93, 0.94], ACCURACY)
    assert [shade(value, ordered) for value in ordered] == [0, 1, 2, 3, 4, 4]


def test_cells_are_sorted_by_validation_and_cells_over_budget_come_last() -> None:
    """The order by test values is the reverse."""
    of_test = {0.8: 0.3, 0.9: 0.2, 0.7: 0.5, 0.6: None}
    cells = []
    for test, valid in of_test.items():
        values: dict[str, Any] = {LR: test}
        one = cell(test, **values)
        assert one.entry is not None
        cells.append(replace(one, entry=replace(one.entry, valid_value=valid, over_budget=test == 0.7)))
    sweep = sweep_of(cells)
    assert listed(sweep) == [0.8, 0.9, 0.7, 0.6]
    assert listed(sweep, BITS) == [0.9, 0.8, 0.7, 0.6]
    assert listed(sweep, order="last") == [0.9, 0.8, 0.7, 0.6]
    assert listed(sweep, None) == [0.8, 0.9, 0.7, 0.6], "cells that do not compare keep their order"


@pytest.mark.parametrize(
    ("sort", "order", "expected"),
    [
        ("test", "first", [0.9, 0.8, 0.5, None]),
        ("test", "last", [0.5, 0.8, 0.9, None]),
        ("rank", "first", [0.8, 0.9, 0.5, None]),
        ("state", "first", [None, 0.8, 0.5, 0.9]),
        (LR, "first", [None, 0.5, 0.8, 0.9]),
        (LR, "last", [0.9, 0.8, 0.5, None]),
    ],
)
def test_every_column_sorts(sort: str, order: str, expected: list[float | None]) -> None:
    cells = [
        replace(cell(0.8, **{LR: 3}), rank=1),
        replace(cell(0.5, **{LR: 2}), rank=3),
        cell(None, **{LR: 1}),
        replace(cell(0.9, **{LR: 4}), rank=2),
    ]
    assert listed(sweep_of(cells), sort=sort, order=order) == expected


def test_a_rank_of_few_seeds_is_not_shown_and_sorts_last() -> None:
    cells = [replace(cell(0.9, n_seeds=2, **{LR: 1}), rank=1), replace(cell(0.8, **{LR: 2}), rank=2)]
    assert listed(sweep_of(cells), sort="rank") == [0.8, 0.9]


def test_filters_of_two_fields_hold_together_and_two_levels_of_one_field_are_alternatives() -> None:
    cells = [cell(lr + eps, **{LR: lr, EPS: eps}) for lr in (10, 20, 30) for eps in (1, 2)]
    sweep = sweep_of(cells)
    assert listed(sweep, where=(f"{LR}=20",)) == [22, 21]
    assert listed(sweep, where=(f"{LR}=20", f"{LR}=30", f"{EPS}=1")) == [31, 21]
    diverged = replace(cells[2], entry=replace(cells[2].entry, n_diverged=1))  # type: ignore[type-var]
    assert listed(sweep_of([*cells[:2], diverged]), state="diverged") == [21]
    assert listed(sweep_of([*cells[:2], cell(None, **{LR: 5, EPS: 1})]), state="running") == [None]


def test_25_cells_make_a_page_and_a_page_beyond_the_last_is_the_last() -> None:
    sweep = sweep_of([cell(value, **{LR: value}) for value in range(60)])
    assert listed(sweep) == [*range(59, 34, -1)]
    assert listed(sweep, page=3) == listed(sweep, page=9) == [*range(9, -1, -1)]
