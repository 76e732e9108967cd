"""Verdict on a sweep in a sentence: which cells tie for first, and which one to take."""

from collections.abc import Sequence
from typing import NamedTuple

from normcore.spec.names import cell_names
from service import wording
from service.experiments.lifecycle import WAITING
from service.leaderboards.schemas import Entry, Verdict
from service.leaderboards.seeds import NEEDED, TESTED, are_too_few
from service.sweeps.schemas import Sweep, SweepCell

MAX_NAMED = 3  # cells that a sentence names; the tables below it have all


class _NamedCell(NamedTuple):
    """Cell that has an entry, and its name."""

    cell: SweepCell
    name: str
    entry: Entry

    @property
    def place(self) -> tuple[int, bool, str]:
        """Sort key of a ranked cell. Of cells that share a rank, the cell with a validation value comes first."""
        return self.cell.rank or 0, self.entry.valid_value is None, self.name


def verdict(sweep: Sweep) -> Verdict:
    """Verdict on a sweep. Without a best cell it says why there is none."""
    named = zip(sweep.cells, cell_names([cell.values for cell in sweep.cells]), strict=True)
    found = [_NamedCell(cell, name, cell.entry) for cell, name in named if cell.entry is not None]
    best = next((one for one in found if sweep.best and one.cell.fingerprint == sweep.best.fingerprint), None)
    if best is None or sweep.metric is None:
        return Verdict("No cell has a result yet." if sweep.state in WAITING else _why_none(sweep), "")
    ranked = sorted((one for one in found if one.cell.tie_group is not None), key=lambda one: one.place)
    enough = [one for one in ranked if not are_too_few(one.entry.n_seeds)]
    if sweep.n_experiments == 1:
        return Verdict(f"{best.name} is the only cell:", f"{_worth(best, sweep.metric)}.")
    if not enough or are_too_few(best.entry.n_seeds):
        return _too_few(sweep, best)
    return _order(sweep, sweep.metric, enough, best, [one for one in ranked if one not in enough])


def tied_for_first(sweep: Sweep) -> Sequence[SweepCell]:
    """Cells that tie for first, among the cells with enough seeds for a rank."""
    ranked = [cell for cell in sweep.cells if cell.tie_group and cell.entry and not are_too_few(cell.entry.n_seeds)]
    first = min((cell.tie_group or 0 for cell in ranked), default=0)
    return [cell for cell in ranked if cell.tie_group == first]


def _why_none(sweep: Sweep) -> str:
    entries = [cell.entry for cell in sweep.cells if cell.entry is not None]
    if not entries:
        return "No cell has a result."
    if all(entry.score is None for entry in entries):
        return "All cells diverged, so no cell is the best."
    if all(entry.score is None or entry.over_budget for entry in entries):
        return "All cells diverged or are over the budget of their board, so no cell is the best."
    return "The cells are on several boards, so their values cannot be compared."


def _too_few(sweep: Sweep, best: _NamedCell) -> Verdict:
    return Verdict(
        "Too few seeds to say which cell is best:",
        f"{best.name} has the best validation value{_so_far(sweep)} and {_worth(best, sweep.metric or '')}, of"
        f" {wording.count(best.entry.n_seeds, 'seed')}. {NEEDED}.",
    )


def _order(
    sweep: Sweep, metric: str, enough: Sequence[_NamedCell], best: _NamedCell, few: Sequence[_NamedCell]
) -> Verdict:
    """Verdict on the cells that have enough seeds for a rank.

    Args:
        few: ranked cells with too few seeds.
    """
    first = enough[0]
    tied = [one for one in enough if one.cell.tie_group == first.cell.tie_group]
    untested = sum(one.entry.n_seeds < TESTED for one in few)
    beside = (first.cell.rank_ci or (1, 1))[1] - 1 - untested
    if len(tied) > 1:
        claim = f"{_name_ties(sweep, tied)}{_so_far(sweep)}:"
        ends = [wording.value(one.entry.score, metric) for one in (tied[0], tied[-1])]
        told = [f"{ends[0]} test {_words(metric)} best, {ends[1]} last of them"]
    elif beside > 0:
        claim = f"{first.name} has the best mean{_so_far(sweep)}, and may not be first:"
        be = "is" if beside == 1 else "are"
        told = [f"{_worth(first, metric)}; {wording.count(beside, 'cell')} {be} not shown to be worse"]
    else:
        claim = f"{first.name} is first{_so_far(sweep)}, and nothing ties with it:"
        told = [_worth(first, metric)]
    if len(tied) > 1 or best is not first:
        told.append(_advise(best, metric, is_told=best is tied[0], is_tied=best in tied))
    if few:
        be = "is" if len(few) == 1 else "are"
        told.append(f"{wording.count(len(few), 'cell')} with too few seeds {be} not ranked")
    return Verdict(claim, " ".join(f"{sentence}." for sentence in told))


def _name_ties(sweep: Sweep, tied: Sequence[_NamedCell]) -> str:
    if len(tied) <= MAX_NAMED:
        return f"{wording.listed([f'({one.name})' if ',' in one.name else one.name for one in tied])} tie for first"
    return f"{wording.steps(len(tied))} of {wording.count(sweep.n_experiments, 'cell')} tie for first"


def _advise(best: _NamedCell, metric: str, *, is_told: bool, is_tied: bool) -> str:
    """Say which cell to take: the cell with the best validation value.

    Args:
        is_told: whether the sentence before has its test value.
    """
    if is_told and not best.entry.n_diverged:
        return f"Take {best.name}, the best by validation"
    doubt = "" if is_tied else ", though on test data it is not among the first"
    return f"Take {best.name}, the best by validation: {_worth(best, metric)}{doubt}"


def _worth(one: _NamedCell, metric: str) -> str:
    """Test value of a cell in words, with its interval."""
    entry = one.entry
    told = f"{wording.value(entry.value.mean if entry.value else None, metric)} test {_words(metric)}"
    if entry.value is not None and entry.value.ci95 is not None:
        told += f", {wording.interval_in_words(entry.value.ci95, metric)}"
    if entry.n_diverged:
        told += f", {entry.n_diverged} of {wording.count(entry.n_seeds, 'seed')} diverged"
    return told


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _so_far(sweep: Sweep) -> str:
    return "" if sweep.state == "succeeded" else " so far"
