"""From results to ranks: plain values in, plain values out.

The unit of evidence is the seed. Runs that repeat a seed repeat its numbers, so they are averaged first; otherwise
running one seed ten times would look like certainty.
"""

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from scipy.special import stdtrit

from normcore.spec.metric import Direction

RankBy = Literal["metric", "steps_to_target", "seconds_to_target"]
CONFIDENCE = 0.95
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class RunResult:
    """What one succeeded run contributes.

    Attributes:
        value: the test value of the task's first metric; None where the run diverged before one was selected.
        values: of all of its metrics.
    """

    seed: int
    diverged: bool
    value: float | None
    values: Mapping[str, float]
    steps_to_target: float | None
    seconds_to_target: float | None


@dataclass(frozen=True, slots=True)
class Center:
    """Mean over seeds, spread and 95% interval (Student t); no interval from fewer than two seeds."""

    mean: float
    std: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class TimeToTarget:
    """Median over seeds, where a seed that never got there counts as infinite; None if the median is."""

    median: float | None
    reached: int


@dataclass(frozen=True, slots=True)
class Pooled:
    """All succeeded runs of one fingerprint."""

    n_runs: int
    n_seeds: int
    n_diverged: int
    value: Center | None
    values: Mapping[str, Center]
    steps_to_target: TimeToTarget
    seconds_to_target: TimeToTarget


@dataclass(frozen=True, slots=True)
class Speedup:
    """How many times sooner than the baseline an entry reaches the target; None where either does not."""

    baseline: str
    steps: float | None
    seconds: float | None


def pool(results: Iterable[RunResult]) -> Pooled:
    """Pool the runs of one fingerprint, seed by seed."""
    runs = sorted(results, key=lambda run: run.seed)
    by_seed = [list(same) for _, same in groupby(runs, key=lambda run: run.seed)]
    values = [v for v in (_mean(run.value for run in same) for same in by_seed) if v is not None]
    return Pooled(
        n_runs=len(runs),
        n_seeds=len(by_seed),
        n_diverged=sum(run.diverged for run in runs),
        value=center(values) if values else None,
        values={name: pooled for name in _metrics(runs) if (pooled := _pooled(name, by_seed)) is not None},
        steps_to_target=_time([_mean(run.steps_to_target for run in same) for same in by_seed]),
        seconds_to_target=_time([_mean(run.seconds_to_target for run in same) for same in by_seed]),
    )


def _metrics(runs: Sequence[RunResult]) -> list[str]:
    return sorted({name for run in runs for name in run.values})


def _pooled(metric: str, by_seed: Sequence[Sequence[RunResult]]) -> Center | None:
    values = [_mean(run.values.get(metric) for run in same) for same in by_seed]
    known = [value for value in values if value is not None]
    return center(known) if known else None


def center(values: Sequence[float]) -> Center:
    """Mean and Student t interval: mean +- t(0.975, n - 1) s / sqrt(n)."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Center(mean, None, None)
    std = statistics.stdev(values, mean)
    half = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * std / math.sqrt(len(values))
    return Center(mean, std, (mean - half, mean + half))


def ranks(centers: Sequence[float | None], counts: Sequence[bool], direction: Direction) -> list[int]:
    """Rank of each entry: 1 more than the entries that count and are better. Equal ones share a rank, and None comes
    last.

    Args:
        counts: which entries others are ranked against; the others are ranked among them, and move none of them.
    """
    sign = -1 if direction == "maximize" else 1
    keys = [math.inf if value is None else sign * value for value in centers]
    ordered = sorted(key for key, counted in zip(keys, counts, strict=True) if counted)
    return [1 + bisect_left(ordered, key) for key in keys]


def ratio(baseline: float | None, own: float | None) -> float | None:
    """How many times ``own`` fits into ``baseline``."""
    return baseline / own if baseline is not None and own else None


def kernel_of(runs: Iterable[str | None]) -> str | None:
    """The kernel that all runs had; ``mixed`` if they differ, or if one had several. Seconds of one kernel say nothing
    of another's."""
    known = {kernel for kernel in runs if kernel is not None}
    alone = known.pop() if len(known) == 1 else None
    return MIXED if known or (alone and " " in alone) else alone


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _time(seeds: Sequence[float | None]) -> TimeToTarget:
    median = statistics.median(math.inf if t is None else t for t in seeds) if seeds else math.inf
    return TimeToTarget(median if math.isfinite(median) else None, sum(t is not None for t in seeds))
