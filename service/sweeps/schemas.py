"""Answer types of sweeps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from normcore.spec.metric import Direction
from service.experiments.schemas import State
from service.http.schemas import WrittenSpec
from service.leaderboards.schemas import Entry, Verdict


@dataclass(slots=True)
class SweepProgress:
    """Progress of a sweep.

    Attributes:
        done: number of runs that have ended, with reused runs.
        total: number of all runs; an adaptive sweep may get more.
        eta_seconds: seconds until all runs have ended, at the pace of the runs that run now; null if not known yet.
    """

    done: int
    total: int
    eta_seconds: float | None


@dataclass(slots=True)
class SweepCell:
    """Cell of a sweep: a combination of values, and its results.

    Attributes:
        values: value of each varied field, by field.
        experiment_id: the cell's experiment; an earlier experiment if all runs of the cell are reused.
        seeds: seeds of the cell, with the seeds of reused runs.
        reused_runs: number of seeds with a reused run.
        entry: the cell's entry on its board, with all seeds that this service has measured; null until a run succeeds.
        rank, rank_ci, tie_group: place among the cells of this sweep by test score, as on a board. They are null for
            cells without a score, for cells over the board's budget, and if the cells are on several boards.
    """

    values: dict[str, Any]
    experiment_id: str
    fingerprint: str
    state: State
    seeds: list[int]
    reused_runs: int
    entry: Entry | None
    rank: int | None
    rank_ci: tuple[int, int] | None
    tie_group: int | None


@dataclass(slots=True)
class BudgetFlip:
    """Number of tried cells ``k`` from which on the other of two methods is better.

    Attributes:
        better: the method that is better from ``k`` on.
        worse: the method that is better with fewer cells.
        is_uncertain: whether ``k`` is more than half of the cells of a method, so that few choices of ``k`` cells are
            left.
    """

    k: int
    better: str
    worse: str
    is_uncertain: bool


@dataclass(slots=True)
class SweptTask:
    """Task and profile of some cells of a sweep."""

    name: str
    profile: str


@dataclass(slots=True, kw_only=True)
class SweepSummary:
    """A sweep as a list shows it.

    Attributes:
        tasks: tasks of all cells, in the order of their names.
        n_experiments: number of cells; each cell is an experiment.
        n_runs: number of runs of all cells, with reused runs.
        n_diverged: number of the sweep's own runs that diverged, without reused runs.
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
NO_VERDICT = Verdict("", "")  # of a sweep whose verdict is not written yet


@dataclass(slots=True, kw_only=True)
class Sweep(SweepSummary):
    """A sweep with its cells.

    Attributes:
        metric, unit, direction: metric that compares the cells; null if the cells are of several tasks, or of an
            analysis.
        best: the cell with the best validation value, among the cells within the board's budget; null until there is
            such a cell, and if the cells are of several boards, because their values do not compare.
        budget_curve: for each method, the test value of the best of k cells, chosen by validation. Each row has k, the
            mean over all choices of k cells, and the 5% and 95% points. The points show the luck of the draw; they are
            not a confidence interval. Empty if the cells are of several boards.
        budget_flips: numbers of cells at which the curves of two methods cross.
        verdict: which cells tie for first, and which one to take; or why there is no best cell.
    """

    metric: str | None
    unit: str | None
    direction: Direction | None
    cells: list[SweepCell]
    best: SweepCell | None
    budget_curve: dict[str, list[BudgetPoint]]
    budget_flips: list[BudgetFlip]
    verdict: Verdict


@dataclass(slots=True)
class PlannedCell:
    """Plan of a cell, if its sweep were submitted.

    Attributes:
        seeds: seeds that would be run.
        seconds_per_run: expected seconds of a run; null if unknown.
    """

    values: dict[str, Any]
    fingerprint: str
    seeds: list[int]
    seconds_per_run: float | None


@dataclass(slots=True, kw_only=True)
class SweepPlan:
    """Plan of a sweep, as a dry run answers it.

    Attributes:
        most_runs: largest number of runs that an adaptive sweep may reach; for other sweeps, the number of all runs.
        total_seconds: expected seconds of all runs that would be run, one after the other; null if unknown.
        basis: measurements of this service from which the seconds are expected; null if there are none.
        queue_position: place of the sweep's first run in the queue; the run at place 1 is taken next.
        memory_bytes: least memory that a run of the largest cell needs; null if it is not known.
        worker_memory_bytes: bytes that the live worker with most room gives this run; null if it is not known.
        live_workers: live workers that take runs of this device.
        fitting_workers: how many of them give this run enough memory, or do not say what they give.
    """

    n_experiments: int
    n_runs: int
    most_runs: int
    reused_runs: int
    total_seconds: float | None
    basis: str | None
    queue_position: int
    memory_bytes: int | None
    worker_memory_bytes: int | None
    live_workers: int
    fitting_workers: int
    cells: list[PlannedCell]


@dataclass(slots=True)
class FieldImportance:
    """Importance of a field of a sweep.

    Attributes:
        field: dotted path of the field.
        importance: share of the variance of the cells' test values that the forest no longer explains if the values of
            this field are shuffled. It is about 0 for a field that does not matter.
    """

    field: str
    importance: float


@dataclass(slots=True)
class Importance:
    """Importance of the fields of a sweep, by a random forest. It describes these cells, and proves nothing.

    Attributes:
        n_cells: number of cells with a value.
        explained: share of the variance of the test values that the forest explains for cells that its trees were not
            fitted to (out of bag). If it is low, the importance means little. Null without a forest.
        fields: the most important field first; empty without a forest.
        note: why there are no numbers, or why they say nothing; else null.
    """

    n_cells: int
    explained: float | None
    fields: list[FieldImportance]
    note: str | None


SWEEP = TypeAdapter(Sweep)
IMPORTANCE = TypeAdapter(Importance)
PLAN = TypeAdapter(SweepPlan)
