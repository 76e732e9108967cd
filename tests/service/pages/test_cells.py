"""The cells of a sweep as a table or a list."""

from dataclasses import replace
from typing import Any

from normcore.spec.tasks import BENCHMARKS
from service.leaderboards.entry import Estimate
from service.pages.cells import arrange_cells
from service.sweeps.examples import MEASURED, RUNNING, SWEEP
from service.sweeps.schemas import Sweep, SweepCell

ACCURACY = BENCHMARKS["permuted_digits"].metric()
BITS = BENCHMARKS["char_lm"].metric()
LR, EPS = "training.optimizer.lr", "norm.eps"


def cell(value: float | None, **values: Any) -> SweepCell:
    assert MEASURED.entry is not None
    if value is None:
        return replace(RUNNING, values=values)
    pooled = Estimate(mean=value, std=None, ci95=None, n=1, iqm=None)
    entry = replace(MEASURED.entry, value=pooled, valid_value=value)
    return replace(MEASURED, values=values, fingerprint=f"{value}", entry=entry)


def sweep_of(grid: Any, cells: list[SweepCell], **more: Any) -> Sweep:
    return replace(SWEEP, grid=grid, cells=cells, best=cells[0], **more)


def test_a_grid_over_two_fields_is_a_table_the_shorter_axis_across() -> None:
    grid: dict[str, list[float]] = {LR: [0.1, 0.2, 0.3], EPS: [1, 2]}
    values = {(lr, eps): lr + eps for lr in grid[LR] for eps in grid[EPS]}
    cells = [cell(value, **{LR: lr, EPS: eps}) for (lr, eps), value in values.items()]
    heat = arrange_cells(sweep_of(grid, cells), ACCURACY).heat
    assert heat is not None
    assert (heat.row_name, heat.column_name, heat.columns) == ("lr", "norm.eps", ["1", "2"])
    assert [(name, [one and one.value for one in row]) for name, row in heat.rows] == [
        ("0.1", [1.1, 2.1]),
        ("0.2", [1.2, 2.2]),
        ("0.3", [1.3, 2.3]),
    ]


def test_shades_go_from_the_worst_to_the_best_whichever_way_is_better() -> None:
    cells = [cell(value, **{LR: value}) for value in (1.0, 1.5, 2.0)]
    sweep = sweep_of({LR: [1.0, 1.5, 2.0]}, [*cells, cell(None, **{LR: 9})])
    assert [one.shade for one in arrange_cells(sweep, ACCURACY).cells] == [4, 2, 0, None]
    fewer_is_better = arrange_cells(sweep, BITS)
    assert [(one.value, one.shade) for one in fewer_is_better.cells] == [(1.0, 4), (1.5, 2), (2.0, 0), (None, None)]
    assert fewer_is_better.ends == (2.0, 1.0)
    assert fewer_is_better.heat is None


def test_draws_and_cells_that_do_not_compare_are_listed_unsorted() -> None:
    cells = [cell(1.0, **{LR: 1, EPS: 1}), cell(2.0, **{LR: 2, EPS: 1})]
    drawn = arrange_cells(sweep_of({LR: [1, 2], EPS: [1]}, cells, random={"norm.gain_init": {"uniform": [0, 1]}}), None)
    assert drawn.heat is None
    assert [one.value for one in drawn.cells] == [1.0, 2.0]
    assert (drawn.ends, drawn.cells[0].shade) == (None, None)


def test_cells_are_sorted_by_validation_and_cells_over_budget_come_last() -> None:
    """The order by test values is the reverse."""
    of_test = {0.8: 0.3, 0.9: 0.2, 0.7: 0.5, 0.6: None}
    cells = []
    for test, valid in of_test.items():
        one = cell(test, **{LR: test})
        assert one.entry is not None
        cells.append(replace(one, entry=replace(one.entry, valid_value=valid, over_budget=test == 0.7)))
    sweep = sweep_of({LR: [*of_test]}, cells)
    assert [one.valid for one in arrange_cells(sweep, ACCURACY).cells] == [0.3, 0.2, 0.5, None]
    assert [one.valid for one in arrange_cells(sweep, BITS).cells] == [0.2, 0.3, 0.5, None]
    assert [one.valid for one in arrange_cells(sweep, None).cells] == [0.3, 0.2, 0.5, None]
