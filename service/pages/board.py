"""The rows of a board, and facts about it, as its page shows them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from normcore.spec.names import differences
from service import wording
from service.leaderboards.schemas import Entry, Leaderboard
from service.leaderboards.seeds import BETTER
from service.leaderboards.verdicts import Seeds
from service.pages import axes
from service.pages.axes import Axis, Mark
from service.pages.rendering import address
from service.pages.seeds import TooFew, too_few
from service.statistics.spread import cut_number

Bracket = Literal["first", "inner", "last"]
Section = Literal["ranked", "over", "older", "claimed", "published"]
Published = Literal["apart", "list", "no"]


@dataclass(frozen=True, slots=True)
class BoardRow:
    """Row of a board: an entry, and how the page shows it.

    Attributes:
        mark: mark of the entry's value on the axis; None without a finite result.
        bracket: place of the row in its tie group; None if no other entry is in the group.
        few: text in place of the rank, if the entry has too few seeds.
        changed: options in which the spec differs from the profile.
        baseline: whether the entry is the baseline.
    """

    entry: Entry
    mark: Mark | None
    bracket: Bracket | None
    few: TooFew | None
    changed: str
    baseline: bool


@dataclass(frozen=True, slots=True)
class BoardTable:
    """Rows of a board by section, and the axis that all rows share.

    Attributes:
        axis: None if no entry has a finite result.
        line: place of the baseline on the axis; None if the baseline is not on the board.
        higher_is_better: whether better values are on the right.
    """

    sections: dict[Section, list[BoardRow]]
    axis: Axis | None
    line: float | None
    higher_is_better: bool


def table(board: Leaderboard, entries: Sequence[Entry], seeds: Seeds, published: Published) -> BoardTable:
    """Table of a part of a board.

    Args:
        entries: entries that this page shows; the axis has room for all entries of the board.
    """
    axis = _axis(board, seeds)
    baseline = _baseline(board)
    names: Sequence[Section] = get_args(Section)
    sections: dict[Section, list[BoardRow]] = {name: [] for name in names}
    few = {id(entry): too_few(entry, board.rank_by) for entry in entries}
    brackets = _brackets([entry for entry in entries if few[id(entry)] is None])
    for entry in entries:
        row = BoardRow(
            entry=entry,
            mark=_mark(axis, entry, seeds),
            bracket=brackets.get(id(entry)),
            few=few[id(entry)],
            changed=differences(entry.changes),
            baseline=entry is baseline,
        )
        sections[_section(entry, published)].append(row)
    line = axis.at(baseline.value.mean) if axis and baseline and baseline.value else None
    return BoardTable(sections, axis, line, board.direction == "maximize")


def _section(entry: Entry, published: Published) -> Section:
    if entry.source == "published":
        return "ranked" if published == "list" and entry.rank is not None else "published"
    if entry.source == "submitted":
        return "claimed"
    if entry.of_older_code:
        return "older"
    return "over" if entry.over_budget else "ranked"


def _baseline(board: Leaderboard) -> Entry | None:
    """Best measured entry of the baseline method, within the budget."""
    measured = (entry for entry in board.entries if entry.source == "measured" and not entry.over_budget)
    return next((entry for entry in measured if entry.method == board.baseline and entry.value), None)


def _brackets(entries: Sequence[Entry]) -> dict[int, Bracket]:
    """Place of each entry in its tie group, by the id of the entry. An entry alone in its group has no place."""
    groups: dict[int, list[Entry]] = {}
    for entry in entries:
        if entry.tie_group is not None:
            groups.setdefault(entry.tie_group, []).append(entry)
    found: dict[int, Bracket] = {}
    for group in groups.values():
        if len(group) > 1:
            found |= {id(entry): "inner" for entry in group[1:-1]}
            found |= {id(group[0]): "first", id(group[-1]): "last"}
    return found


def _axis(board: Leaderboard, seeds: Seeds) -> Axis | None:
    shown = [entry for entry in board.entries if entry.value is not None and entry.split == "test"]
    if not shown:
        return None
    means = [entry.value.mean for entry in shown if entry.value]
    limits = [limit for entry in shown if entry.value for limit in entry.value.ci95 or ()]
    limits += [dot for entry in shown for dot in _dots(entry, seeds)]
    return axes.linear(means, limits, partial(wording.level, metric=board.metric))


def _mark(axis: Axis | None, entry: Entry, seeds: Seeds) -> Mark | None:
    if axis is None or entry.value is None:
        return None
    return axis.mark(entry.value.mean, entry.value.ci95, list(_dots(entry, seeds)))


def _dots(entry: Entry, seeds: Seeds) -> Iterator[float]:
    for run in seeds.get(entry.fingerprint or "", ()):
        if entry.source == "measured" and not entry.of_older_code and run.converged is not None:
            yield cut_number(run.converged)


@dataclass(frozen=True, slots=True)
class Note:
    """Reason why a column has no value, and what to do; ``address`` is empty if there is nothing to do."""

    reason: str
    action: str = ""
    address: str = ""


def column_notes(board: Leaderboard) -> dict[str, Note]:
    """Notes on the columns ``time`` and ``speed`` that have no value of any measured entry."""
    measured = [entry for entry in board.entries if entry.source == "measured" and not entry.of_older_code]
    if not measured or board.target is None:
        return {}
    notes, by_seconds = dict[str, Note](), board.rank_by == "seconds_to_target"
    times = [entry.seconds_to_target if by_seconds else entry.steps_to_target for entry in measured]
    if not any(time.reached for time in times if time):
        notes["time"] = Note("no seed is there yet")
    others = [entry.speedup for entry in measured if entry.method != board.baseline and entry.speedup]
    ratios = [speedup.seconds if by_seconds else speedup.steps for speedup in others]
    if any(ratio is not None for ratio in ratios):
        return notes
    of_baseline = [entry for entry in measured if entry.method == board.baseline]
    if "time" in notes or (of_baseline and of_baseline == measured):
        notes["speed"] = Note("nothing to compare")
    elif by_seconds and all(entry.contended == entry.n_seeds for entry in of_baseline) and of_baseline:
        notes["speed"] = Note(f"{board.baseline} ran on a busy machine")
    else:
        form = address("/submit", task=board.task, profile=board.profile, method=board.baseline, seeds=BETTER)
        where = "of these settings" if of_baseline else "on this board"
        notes["speed"] = Note(f"no baseline {board.baseline} {where}:", "submit one", form)
    return notes


def facts(board: Leaderboard, hidden: int) -> list[str]:
    """Facts about a board that its page shows besides the verdict.

    Args:
        hidden: number of measured entries that the page does not show.
    """
    measured = [entry for entry in board.entries if entry.source == "measured" and not entry.of_older_code]
    seeds = sorted({entry.n_seeds for entry in measured})
    told = [
        wording.count(len(measured), "entry"),
        f"{wording.count(sum(entry.n_runs for entry in measured), 'run')}, {_seeds(seeds)}" if measured else "",
        _some(sum(entry.n_diverged for entry in measured), "run", "diverged"),
        _some(sum(entry.contended for entry in measured), "run", "on a busy machine, left out of seconds"),
        _some(sum(bool(entry.conflicting_seeds) for entry in measured), "entry", "with seeds that do not repeat"),
        _some(sum(entry.gap for entry in board.entries), "entry", "with some seeds that did not take off"),
        _some(hidden, "entry", "of other settings not shown"),
        _some(sum(entry.n_older for entry in measured), "run", "of older code set aside"),
    ]
    return [fact for fact in told if fact]


def _seeds(counts: Sequence[int]) -> str:
    if len(counts) == 1:
        return f"{wording.count(counts[0], 'seed')} each"
    return f"{counts[0]} to {counts[-1]} seeds each"


def _some(number: int, one: str, what: str) -> str:
    return f"{wording.count(number, one)} {what}" if number else ""
