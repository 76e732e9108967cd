"""The heat table of a sweep over chosen fields."""

from typing import Any

import pytest

from normcore.spec.metric import Metric
from service.errors import Invalid
from service.pages.cells import show_cells
from service.pages.heat import Heat, make_heat
from service.pages.sweep_choices import NO_FIELD, SweepChoices
from service.sweeps.levels import fields_of
from service.sweeps.schemas import Sweep
from tests.service.pages.test_cells import ACCURACY, BITS, EPS, LR, cell, sweep_of

BATCH = "training.batch_size"


def heat_of(sweep: Sweep, metric: Metric | None = ACCURACY, **chosen: Any) -> Heat:
    fields = fields_of(sweep)
    found = make_heat(show_cells(sweep), fields, metric, SweepChoices(**chosen).check(fields))
    assert found is not None
    return found


def numbers(heat: Heat) -> list[list[float | None]]:
    return [[one.worth if one else None for one in row] for row in heat.cells]


@pytest.fixture
def three() -> Sweep:
    """A sweep of three fields: a value is 100 lr + 10 eps + batch size."""
    return sweep_of(
        [
            cell(100 * lr + 10 * eps + batch, **{LR: lr, EPS: eps, BATCH: batch})
            for lr in (1, 2, 3)
            for eps in (1, 2)
            for batch in (4, 6)
        ]
    )


def test_two_fields_make_a_table_the_shorter_field_across() -> None:
    heat = heat_of(sweep_of([cell(lr + eps, **{LR: lr, EPS: eps}) for lr in (10, 20, 30) for eps in (1, 2)]))
    assert heat.columns is not None
    assert (heat.rows.path, heat.columns.path, heat.is_pooled, heat.others) == (LR, EPS, False, [])
    assert numbers(heat) == [[11, 12], [21, 22], [31, 32]]
    assert heat.ordered == [11, 12, 21, 22, 31, 32]
    assert heat.cells[0][0] is not None
    assert (heat.cells[0][0].where, heat.cells[0][0].shade) == ((f"{LR}=10", f"{EPS}=1"), 0)


def test_cells_that_share_both_values_show_their_best_or_their_mean(three: Sweep) -> None:
    best, mean = heat_of(three), heat_of(three, each="mean")
    assert (best.is_pooled, best.others) == (True, ["batch_size"])
    assert numbers(best) == [[116, 126], [216, 226], [316, 326]]
    assert numbers(mean) == [[115, 125], [215, 225], [315, 325]]
    assert numbers(heat_of(three, BITS))[0] == [114, 124]


def test_the_fields_are_chosen_and_one_field_may_stand_alone(three: Sweep) -> None:
    assert numbers(heat_of(three, rows=BATCH, columns=EPS)) == [[314, 324], [316, 326]]
    assert numbers(heat_of(three, rows=BATCH)) == [[124, 224, 324], [126, 226, 326]], (
        "the first other field goes across"
    )
    assert numbers(heat_of(three, rows=EPS, columns=NO_FIELD)) == [[316], [326]]
    assert numbers(heat_of(three, rows=BATCH, columns=BATCH)) == numbers(heat_of(three, rows=BATCH))


def test_a_combination_that_the_sweep_does_not_have_is_empty() -> None:
    heat = heat_of(sweep_of([cell(1, **{LR: 1, EPS: 1}), cell(None, **{LR: 2, EPS: 2})]))
    assert [[one and one.first.cell.state for one in row] for row in heat.cells] == [
        ["succeeded", None],
        [None, "running"],
    ]


def test_one_field_has_no_heat_table() -> None:
    sweep = sweep_of([cell(lr, **{LR: lr}) for lr in (1, 2)])
    assert make_heat(show_cells(sweep), fields_of(sweep), ACCURACY, SweepChoices()) is None


@pytest.mark.parametrize(
    ("chosen", "where", "told"),
    [
        ({"rows": "norm.epsilon"}, "rows", "did you mean 'norm.eps'?"),
        ({"columns": "lr"}, "columns", "choose from"),
        ({"sort": "value"}, "sort", "validation"),
        ({"where": ("nothing=1",)}, "where", "choose from"),
        ({"where": (f"{EPS}=3",)}, "where", "norm.eps=1, norm.eps=2"),
    ],
)
def test_a_wrong_choice_is_refused_with_the_right_ones(
    three: Sweep, chosen: dict[str, Any], where: str, told: str
) -> None:
    with pytest.raises(Invalid) as refused:
        SweepChoices(**chosen).check(fields_of(three))
    [error] = refused.value.errors
    assert error.loc == (where,)
    assert told in error.msg
