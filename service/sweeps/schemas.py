"""Answer types of sweeps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from normcore.spec.metric import Direction
from service.experiments.schemas import State
from service.http.openapi import WrittenSpec
from service.leaderboards.schemas import Entry


@dataclass(slots=True)
class SweepProgress:
    """Progress of a sweep.

    Attributes:
        done: runs that have ended, those that were reused among them.
        total: all runs; an adaptive sweep may get more.
        eta_seconds: until all have ended, at the pace of those that run now; null until that is known.
    """

    done: int
    total: int
    eta_seconds: float | None


@dataclass(slots=True)
class SweepCell:
    """A combination of values, and what came of it.

    Attributes:
        values: by field.
        experiment_id: its experiment; that of earlier runs if they make up all of it.
        seeds: that count, those of earlier runs too.
        reused_runs: how many of them are of earlier runs.
        entry: of its board, with all seeds that this service has measured of it; null until a run has succeeded.
    """

    values: dict[str, Any]
    experiment_id: str
    fingerprint: str
    state: State
    seeds: list[int]
    reused_runs: int
    entry: Entry | None


@dataclass(slots=True)
class BudgetFlip:
    """A number of cells to try from which on another method is the better one.

    Attributes:
        better: from ``k`` on.
        worse: from ``k`` on; with fewer cells it was the better.
        is_uncertain: whether ``k`` is more than half of the cells of either, of which few choices are left to tell.
    """

    k: int
    better: str
    worse: str
    is_uncertain: bool


@dataclass(slots=True)
class SweptTask:
    """A task that cells are of, at one profile."""

    name: str
    profile: str


@dataclass(slots=True, kw_only=True)
class SweepSummary:
    """A sweep as a list shows it.

    Attributes:
        tasks: of all of its cells, in the order of their names.
        n_experiments: cells, each an experiment.
        n_runs: of all cells, reused ones too.
        n_diverged: runs of its own that diverged; reused ones are not among them.
    """

    id: str
    state: State
    tasks: list[SweptTask]
    n_experiments: int
    n_runs: int
    reused_runs: int
    n_diverged: int
    progress: SweepProgress
    spec: WrittenSpec
    grid: dict[str, list[Any]]
    random: dict[str, dict[str, list[Any]]]
    samples: int | None
    sampler_seed: int
    reuse: bool
    adaptive: bool
    created_at: datetime


BudgetPoint = tuple[int, float, float, float]


@dataclass(slots=True, kw_only=True)
class Sweep(SweepSummary):
    """A sweep with its cells.

    Attributes:
        metric, unit, direction: of the values that cells are compared by; null if the cells are of several tasks, or of
            an analysis.
        best: of the cells within the board's budget that with the best validation value; null until there is one, and
            if the cells are of several boards, whose values do not compare.
        budget_curve: for each method, what the test value would have been of the best of k of its cells, chosen by
            validation: k, the mean over all choices, and their 5% and 95% points, which are luck of the draw and no
            interval of anything. Empty if the cells are of several boards.
        budget_flips: where two methods' curves cross.
    """

    metric: str | None
    unit: str | None
    direction: Direction | None
    cells: list[SweepCell]
    best: SweepCell | None
    budget_curve: dict[str, list[BudgetPoint]]
    budget_flips: list[BudgetFlip]


@dataclass(slots=True)
class PlannedCell:
    """A cell, were its sweep submitted.

    Attributes:
        seeds: that would be run.
        seconds_per_run: expected; null if unknown.
    """

    values: dict[str, Any]
    fingerprint: str
    seeds: list[int]
    seconds_per_run: float | None


@dataclass(slots=True, kw_only=True)
class SweepPlan:
    """Plan of a sweep, as a dry run answers it.

    Attributes:
        most_runs: that an adaptive sweep may come to; of others all runs.
        total_seconds: expected, of all runs that would be run, one after the other; null if unknown.
        basis: what was measured on this service to expect that; null if nothing was.
        queue_position: place of its first run in the queue; 1 is the next to be taken.
    """

    n_experiments: int
    n_runs: int
    most_runs: int
    reused_runs: int
    total_seconds: float | None
    basis: str | None
    queue_position: int
    cells: list[PlannedCell]


SWEEP = TypeAdapter(Sweep)
PLAN = TypeAdapter(SweepPlan)
