"""Sentences on what a method costs."""

from typing import Any

import pytest

from normcore.events import Finding
from service.pages.method_costs import cell_costs, unmeasured_cells
from service.report_cards.costs import BoardCost
from service.report_cards.examples import STEP_COST
from service.report_cards.schemas import CellOut

UNMEASURED = CellOut(gradient_flow=None, step_cost=None, smallest_batch=None)
LIMITS = [Finding("ratio.low", 1.41, ""), Finding("ratio.high", 1.52, "")]
SURE = STEP_COST.model_copy(update={"findings": [*STEP_COST.findings, *LIMITS]})
ALONE = "a training step takes 1.46 times as long as with none"


def board(step: float, sooner: float, task: str = "digits", bound: Any = None, ci95: Any = None) -> BoardCost:
    return BoardCost(task, "small", "0", "lstm", "rms_norm", step, sooner, ci95, bound)


@pytest.mark.parametrize(
    ("step_cost", "boards", "text"),
    [
        (SURE, [], f"In an LSTM {ALONE} (95% 1.41 – 1.52; steps in turns on cpu)."),
        (STEP_COST, [], f"In an LSTM {ALONE} (no interval; steps in turns on cpu)."),
        (
            None,
            [board(1.2, 2.0, ci95=(1.5, 2.5))],
            "In an LSTM on digits, small, a step takes 1.20 times as long, and the target is reached 2.00 times sooner"
            " (95% 1.50 – 2.50).",
        ),
        (
            None,
            [board(1.2, 0.5, ci95=(0.4, 0.8))],
            "In an LSTM on digits, small, a step takes 1.20 times as long, and the target is reached 2.00 times later"
            " (95% 1.25 – 2.50).",
        ),
        (
            None,
            [board(1.0, 1.0), board(1.2, 2.0), board(1.44, 4.0)],
            "In an LSTM on 3 boards a step takes 1.20 times as long (95% 0.76 – 1.89), and the target is reached 2.00"
            " times sooner (95% 0.36 – 11).",
        ),
        (
            None,
            [board(1.2, 2.0), board(1.2, 3.0, "text", "at least")],
            "In an LSTM on 2 boards a step takes 1.20 times as long, and the target is reached 2.00 times sooner on 1"
            " board.",
        ),
        (
            None,
            [board(1.2, 3.0, task, "at least") for task in ("digits", "text", "lines")],
            "In an LSTM on 3 boards a step takes 1.20 times as long (95% 1.20 – 1.20), and the target is reached"
            " at least 3.00 times sooner on digits and at least 3.00 times sooner on text, as some seeds never"
            " reached it.",
        ),
    ],
)
def test_a_cell_has_a_sentence_with_intervals(step_cost: Any, boards: list[BoardCost], text: str) -> None:
    cells = {"lstm": CellOut(gradient_flow=None, step_cost=step_cost, smallest_batch=None)}
    assert [one.text for one in cell_costs(cells, boards)] == [text]


def test_cells_without_a_measurement_are_named_in_one_sentence() -> None:
    cells = {"rnn": UNMEASURED, "lstm": UNMEASURED.model_copy(update={"step_cost": SURE}), "gru": UNMEASURED}
    known = cell_costs(cells, [])
    assert [one.cell for one in known] == ["lstm"]
    assert unmeasured_cells(cells, known) == "In an RNN and a GRU its cost is not measured."
    assert unmeasured_cells({}, []) == ""
