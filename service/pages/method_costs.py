"""Cost of a method in words: for each cell a sentence, with intervals, or what to measure."""

from collections.abc import Sequence
from dataclasses import dataclass

from service import wording
from service.report_cards.costs import BASELINE, BoardCost, MeanRatio, mean_ratio
from service.report_cards.schemas import CellOut, MeasuredOut

MOST_BOUNDS = 2  # boards that are named
VOWELS = "AEFHILMNORSX"  # an LSTM, an RNN, a GRU: letters that are spoken with a vowel at the beginning


@dataclass(frozen=True, slots=True)
class CellCost:
    """Sentence on the cost of a method in one cell."""

    cell: str
    text: str


def cell_costs(cells: dict[str, CellOut], boards: Sequence[BoardCost]) -> list[CellCost]:
    """Describe the cost in each cell in which it is measured."""
    found = [_describe_cell(cell, measured, [b for b in boards if b.cell == cell]) for cell, measured in cells.items()]
    return [one for one in found if one is not None]


def unmeasured_cells(cells: dict[str, CellOut], known: Sequence[CellCost]) -> str:
    """Sentence on the cells in which nothing of the cost is measured; empty if there is no such cell."""
    names = {one.cell for one in known}
    missing = [_with_article(cell) for cell in cells if cell not in names]
    return f"In {wording.listed(missing)} its cost is not measured." if missing else ""


def _describe_cell(cell: str, measured: CellOut, boards: Sequence[BoardCost]) -> CellCost | None:
    alone, trained = _describe_alone(measured.step_cost), _describe_boards(boards)
    if not alone and not trained:
        return None
    first = alone or f"{trained[0].lower()}{trained[1:]}"
    more = f" {trained}." if alone and trained else ""
    return CellCost(cell, f"In {_with_article(cell)} {first}.{more}")


def _with_article(cell: str) -> str:
    return f"{'an' if cell[0].upper() in VOWELS else 'a'} {cell.upper()}"


def _describe_alone(measured: MeasuredOut | None) -> str:
    """Say what the analysis of the cost of a step found; empty if it was not run."""
    values = {finding.name: finding.value for finding in measured.findings} if measured else {}
    ratio, limits = values.get("ratio"), (values.get("ratio.low"), values.get("ratio.high"))
    if measured is None or ratio is None:
        return ""
    sure = f"95% {wording.ratio_interval(limits)}" if None not in limits else "no interval"
    how = f"{sure}; steps in turns on {measured.device}"
    kept = values.get("memory_ratio")
    memory = "" if kept is None else f" and keeps {_times(kept)} as many bytes for its backward pass"
    return f"a training step takes {_times(ratio)} as long as with {BASELINE} ({how}){memory}"


def _describe_boards(boards: Sequence[BoardCost]) -> str:
    """Say what trainings on boards took; empty if no board knows."""
    step = mean_ratio([board.step for board in boards])
    if step is None:
        return ""
    where = f"On {boards[0].task}, {boards[0].profile}," if len(boards) == 1 else f"On {len(boards)} boards"
    told = f"{where} a step takes {_times(step.mean)} as long{_sure(step)}"
    return f"{told}, {_describe_target(boards)}"


def _describe_target(boards: Sequence[BoardCost]) -> str:
    exact = [board for board in boards if board.bound is None]
    if not exact:
        bounds = [f"{board.bound} {_times(board.sooner)} sooner on {board.task}" for board in boards[:MOST_BOUNDS]]
        return f"and the target is reached {wording.listed(bounds)}, as some seeds never reached it"
    sooner = mean_ratio([board.sooner for board in exact])
    assert sooner is not None
    limits = exact[0].ci95 if len(exact) == 1 else sooner.ci95
    sure = f" (95% {wording.ratio_interval(limits)})" if limits else ""
    ratio, word = (sooner.mean, "sooner") if sooner.mean >= 1 else (1 / sooner.mean, "later")
    if word == "later" and limits:
        sure = f" (95% {wording.ratio_interval([1 / limits[1], 1 / limits[0]])})"
    on = "" if len(exact) == len(boards) else f" on {wording.count(len(exact), 'board')}"
    return f"and the target is reached {_times(ratio)} {word}{on}{sure}"


def _sure(found: MeanRatio) -> str:
    return f" (95% {wording.ratio_interval(found.ci95)})" if found.ci95 else ""


def _times(ratio: float) -> str:
    return f"{wording.ratio(ratio).removeprefix('×')} times"
