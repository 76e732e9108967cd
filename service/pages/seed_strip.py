"""Strip of an experiment's seeds: a mark for each seed, in the order of their values, and how the values spread."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from normcore.spec.metric import Direction
from service import wording
from service.experiments.schemas import RunOut

FEW = 10  # up to so many seeds a table is enough
KINDS = ("succeeded", "running", "queued", "cancelled", "diverged", "failed")
"""States in the order of the strip; ``diverged`` stands for runs that succeeded and diverged."""
WIDTH, MARGIN = 1000, 10  # of the drawing of the spread, in its own units


@dataclass(frozen=True, slots=True)
class Mark:
    """Mark of a seed. ``kind`` is its state, see ``KINDS``."""

    run_id: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Strip:
    """Marks of all seeds.

    Attributes:
        counts: number of seeds of each kind that occurs.
        best_first: whether values are known, so that marks begin with the best seed.
        ticks: SVG path with a tick at each value; empty for fewer than two values.
        low, middle, high: lowest value, median and highest value as texts.
        median: place of the median in the drawing.
    """

    marks: Sequence[Mark]
    counts: Sequence[tuple[str, int]]
    best_first: bool
    ticks: str
    low: str
    middle: str
    high: str
    median: int


def kind_of(run: RunOut) -> str:
    """State of a run; ``diverged`` if it diverged."""
    return "diverged" if run.outcome == "diverged" else run.state


def seed_strip(
    runs: Sequence[RunOut], values: Mapping[str, float], metric: str | None, direction: Direction
) -> Strip | None:
    """Make the strip of an experiment's seeds; None if they are few.

    Args:
        values: value of each run that has one, by the id of the run.
        metric: metric of the values; None for an analysis.
    """
    if len(runs) <= FEW:
        return None
    sign = -1 if direction == "maximize" else 1

    def place(run: RunOut) -> tuple[int, float, int]:
        return KINDS.index(kind_of(run)), sign * values.get(run.id, 0.0), run.seed

    marks = [Mark(run.id, kind_of(run), _describe(run, values, metric)) for run in sorted(runs, key=place)]
    found = Counter(mark.kind for mark in marks)
    counts = [(kind, found[kind]) for kind in KINDS if found[kind]]
    known = sorted(value for run in runs if (value := values.get(run.id)) is not None)
    if metric is None or len(known) < 2 or known[0] == known[-1]:
        return Strip(marks, counts, bool(known), "", "", "", "", 0)
    middle = statistics.median(known)
    low, high = known[0], known[-1]
    ticks = "".join(f"M{_x(value, low, high)} 4v16" for value in known)
    lowest, median, highest = (wording.value(value, metric) for value in (low, middle, high))
    return Strip(marks, counts, True, ticks, lowest, median, highest, _x(middle, low, high))


def _describe(run: RunOut, values: Mapping[str, float], metric: str | None) -> str:
    value = values.get(run.id)
    known = f"{wording.value(value, metric)}, " if metric and value is not None else ""
    return f"seed {run.seed}: {known}{kind_of(run)}"


def _x(value: float, low: float, high: float) -> int:
    return MARGIN + round((WIDTH - 2 * MARGIN) * (value - low) / (high - low))
