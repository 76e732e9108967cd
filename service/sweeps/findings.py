"""Results of a sweep's cells, computed from plain values."""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from normcore.spec.metric import Direction, Metric
from normcore.spec.tasks import BENCHMARKS
from service.leaderboards.entry import no_skill_of
from service.leaderboards.ranking import rank_by_value
from service.leaderboards.row import MeasuredEntry
from service.statistics.best_of import BestOf, Trial, best_of_each_number, flips
from service.statistics.order import RankEstimate, key_of
from service.statistics.spread import gain
from service.sweeps.schemas import BudgetFlip


def metric_of(tasks: Collection[str]) -> Metric | None:
    """Metric that compares cells of these tasks; None for several tasks, or an analysis."""
    names = set(tasks)
    return BENCHMARKS[names.pop()].metric() if len(names) == 1 and names <= BENCHMARKS.keys() else None


def best(rows: Sequence[MeasuredEntry], metric: Metric) -> str | None:
    """Find the fingerprint of the cell with the best validation value; of equal cells, the first."""
    values = ((row.fingerprint, row.pooled.valid_value) for row in rows)
    gains = {name: gain(value, metric.direction) for name, value in values if value is not None}
    return max(gains, key=gains.__getitem__, default=None)


def standings(rows: Sequence[MeasuredEntry], metric: Metric) -> dict[str, RankEstimate]:
    """Rank the cells of a sweep among each other by score, as a board ranks its entries. Holm's correction counts the
    pairs of these cells only."""
    keys = [key_of(row.pooled.score, metric.direction) for row in rows]
    ranks = rank_by_value(keys, [row.results for row in rows], metric.direction)
    return {row.fingerprint: rank for row, rank in zip(rows, ranks, strict=True) if rank.tie_group is not None}


def scores(rows: Sequence[MeasuredEntry]) -> dict[str, float]:
    """Test value of each cell as a search finds it, by fingerprint."""
    of_cells = {row.fingerprint: _trial(row) for row in rows}
    return {fingerprint: trial.test for fingerprint, trial in of_cells.items() if trial is not None}


def trials(rows: Sequence[MeasuredEntry]) -> dict[str, list[Trial]]:
    """List the cells of each method as trials of a search: validation value and test value of each cell."""
    found: dict[str, list[Trial]] = {}
    for row in rows:
        trial = _trial(row)
        if trial is not None:
            found.setdefault(row.method, []).append(trial)
    return found


def _trial(row: MeasuredEntry) -> Trial | None:
    """Make a trial, a tried setting with its values, of one cell of the sweep. If all seeds of the cell diverged, its
    test value is the value of a model that ignores its input. None if the cell has no value.
    """
    pooled = row.pooled
    if pooled.score is not None:
        return Trial(pooled.valid_value, pooled.score)
    no_skill = no_skill_of(row.results)
    return None if no_skill is None else Trial(None, no_skill)


def budget_curves(of_methods: Mapping[str, Sequence[Trial]], direction: Direction) -> dict[str, list[BestOf]]:
    """Budget curve of each method: expected value of the best of 1, 2, … of its cells."""
    return {method: best_of_each_number(of_methods[method], direction) for method in sorted(of_methods)}


def budget_flips(curves: Mapping[str, Sequence[BestOf]], metric: Metric) -> list[BudgetFlip]:
    """Find the numbers of cells at which the curves of two methods cross, smallest number first."""
    found = []
    for one, other in combinations(curves, 2):
        for k, is_uncertain in flips(curves[one], curves[other]):
            leads = metric.is_better(curves[one][k - 1].expected, than=curves[other][k - 1].expected)
            better, worse = (one, other) if leads else (other, one)
            found.append(BudgetFlip(k, better, worse, is_uncertain))
    return sorted(found, key=lambda flip: flip.k)
