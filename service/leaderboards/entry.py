"""Pooling of one fingerprint's results into its entry: plain values in, plain values out.

The unit of evidence is the seed. Runs that repeat a seed repeat its numbers, so one of them counts; otherwise running
one seed ten times would look like certainty.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from normcore.spec.metric import Direction, Metric
from normcore.target import Time
from service.statistics.times import Run, TimeUnit, kaplan_meier, times
from service.statistics.values import Interval, Limits, Value, value, worth

Numbers = tuple[float | None, float]  # value and steps
TestItems = Callable[[str], int | None]
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class RunResult:
    """Contribution of one succeeded run.

    Attributes:
        value: the test value of the task's first metric; None where the run diverged before one was selected.
        values: of all of its metrics.
        valid_value: the validation value of the model that was tested.
        no_skill: value of a model that ignores its input; None for runs that are older than this field.
        reached: whether it reached the board's target; None where it had none, or another one.
        steps, seconds: time to the target, or the length of the run if it was not reached.
        max_steps: updates that it might have had.
        machine, hardware: see ``machines``.
        contended: whether something else kept its machine busy, or nobody can tell, so that its seconds say nothing.
        elsewhere: what other machines gave first for this seed, by machine.
    """

    run_id: str
    seed: int
    diverged: bool
    value: float | None
    values: Mapping[str, float]
    valid_value: float | None
    no_skill: float | None
    reached: bool | None
    steps: float
    seconds: float
    max_steps: int
    machine: str
    hardware: str
    kernel: str | None
    contended: bool
    elsewhere: Mapping[str, Numbers] = field(default_factory=dict)

    @property
    def numbers(self) -> Numbers:
        """Numbers that a machine gives again if it trains this seed once more."""
        return self.value, self.steps

    @property
    def converged(self) -> float | None:
        """The value, unless the run diverged, whatever it had reached before."""
        return None if self.diverged else self.value

    def worth(self, direction: Direction) -> float | None:
        """The part of a score that the run gives: never worse than a model that ignores its input."""
        if self.diverged or self.value is None:
            return self.no_skill
        return worth(self.value, direction, self.no_skill)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The succeeded runs of one fingerprint and one code.

    Attributes:
        n_runs: how many there are.
        results: the run of each seed that counts, in the order of the seeds.
        conflicting_seeds: of which a machine gave different numbers.
    """

    n_runs: int = 0
    results: Sequence[RunResult] = ()
    conflicting_seeds: Sequence[int] = ()

    def and_also(self, result: RunResult) -> "Evidence":
        """Add a run. For each seed one run counts: the first that ran alone on its machine, else the first."""
        counting = {known.seed: known for known in self.results}
        conflicting = set(self.conflicting_seeds)
        known = counting.setdefault(result.seed, result)
        given = {**known.elsewhere, known.machine: known.numbers}
        if tuple(given.setdefault(result.machine, result.numbers)) != result.numbers:
            conflicting.add(result.seed)
        counts = result if known.contended and not result.contended else known
        elsewhere = {machine: numbers for machine, numbers in given.items() if machine != counts.machine}
        counting[result.seed] = replace(counts, elsewhere=elsewhere)
        return Evidence(self.n_runs + 1, [counting[seed] for seed in sorted(counting)], sorted(conflicting))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric over the seeds that converged.

    Attributes:
        std: with n - 1; None of one seed, and of a paper's number.
        ci95: of the mean; likewise.
        iqm: the mean of the middle half of all seeds, the diverged ones being worst; from five seeds on.
    """

    mean: float
    std: float | None = None
    ci95: Interval | None = None
    n: int | None = None
    iqm: float | None = None


@dataclass(frozen=True, slots=True)
class PooledTimes:
    """Times to the target over the seeds.

    Attributes:
        median: None if it is not known to be reached.
        reached: how many did.
        ci95: of the median; a limit of None is not known.
        left: the share that has not reached it after each time.
    """

    median: float | None
    reached: int
    ci95: tuple[float, float | None] | None
    left: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Pooled:
    """Statistics of an entry that need no other entry.

    Attributes:
        value: of the first metric; None if all seeds diverged.
        values: of all metrics.
        valid_value: mean of the validation values, by which one entry of a method is chosen; none counts as worse
            than ``no_skill``.
        score: mean of all seeds; none counts as worse than a model that ignores its input, as diverged ones do.
        contended: how many of the seeds' runs were.
        hardware: on which most of the others ran; None if there are none.
        kernel: that all of these had; ``mixed`` if they differ, or if one had several.
        seconds: on that hardware.
        gap: whether the values of the first metric fall into two groups.
    """

    n_seeds: int
    n_diverged: int
    diverged_ci95: Interval | None
    value: Estimate | None
    values: Mapping[str, Estimate]
    valid_value: float | None
    score: float | None
    contended: int
    hardware: str | None
    kernel: str | None
    steps: PooledTimes
    seconds: PooledTimes
    gap: bool


def pool(results: Sequence[RunResult], metrics: Sequence[Metric], test_items: TestItems) -> Pooled:
    """Pool the runs that count.

    Args:
        metrics: of their task; the first one ranks.
        test_items: how many test items the metric of a name counts (``Benchmark.test_items``).
    """
    of_metrics = {metric.name: _value(results, metric, test_items(metric.name)) for metric in metrics}
    first = of_metrics[metrics[0].name]
    chosen_by = [
        worth(result.valid_value, metrics[0].direction, result.no_skill)
        for result in results
        if result.valid_value is not None and not result.diverged
    ]
    hardware = hardware_of_most_seeds(results)
    return Pooled(
        n_seeds=len(results),
        n_diverged=sum(result.diverged for result in results),
        diverged_ci95=first.diverged_ci95,
        value=estimate(first),
        values={name: shown for name, found in of_metrics.items() if (shown := estimate(found)) is not None},
        valid_value=sum(chosen_by) / len(chosen_by) if chosen_by else None,
        score=first.score,
        contended=sum(result.contended for result in results),
        hardware=hardware,
        kernel=kernel_of(result.kernel for result in results),
        steps=_times(times_of(results, "steps")),
        seconds=_times(times_of(on(hardware, results), "seconds")),
        gap=first.gap,
    )


def converged_values(results: Iterable[RunResult]) -> dict[int, float]:
    """Test values of the seeds that converged."""
    return {run.seed: run.converged for run in results if run.converged is not None}


def hardware_of_most_seeds(results: Iterable[RunResult]) -> str | None:
    """Hardware on which most seeds ran alone; of several with equally many seeds, the first by name."""
    counts: dict[str, int] = {}
    for result in results:
        if not result.contended:
            counts[result.hardware] = counts.get(result.hardware, 0) + 1
    return min(counts, key=lambda name: (-counts[name], name), default=None)


def on(hardware: str | None, results: Iterable[RunResult]) -> list[RunResult]:
    """The runs whose seconds compare: alone on their machine, of this hardware."""
    return [result for result in results if result.hardware == hardware and not result.contended]


def times_of(results: Iterable[RunResult], by: TimeUnit) -> dict[int, Run]:
    """Each seed's time to the target, of those that had it."""
    return {
        result.seed: Run(result.steps if by == "steps" else result.seconds, result.reached)
        for result in results
        if result.reached is not None
    }


def spans_of(results: Iterable[RunResult]) -> dict[int, Time]:
    """Each seed's time in steps and in seconds."""
    return {
        result.seed: Time(result.reached, result.steps, result.seconds)
        for result in results
        if result.reached is not None
    }


def kernel_of(runs: Iterable[str | None]) -> str | None:
    """The kernel that all runs had; ``mixed`` if they differ, or if one had several. Seconds of one kernel say nothing
    of another's."""
    known = {kernel for kernel in runs if kernel is not None}
    alone = known.pop() if len(known) == 1 else None
    return MIXED if known or (alone and " " in alone) else alone


def _value(results: Sequence[RunResult], metric: Metric, items: int | None) -> Value:
    values = [result.values[metric.name] for result in results if not result.diverged and metric.name in result.values]
    n_diverged, limits = sum(result.diverged for result in results), Limits.of(metric, items)
    return value(values, n_diverged, metric.direction, no_skill_of(results), limits)


def no_skill_of(results: Iterable[RunResult]) -> float | None:
    """Value of a model that ignores its input. It is the same for all runs of a problem."""
    return next((result.no_skill for result in results if result.no_skill is not None), None)


def estimate(found: Value) -> Estimate | None:
    """A value as boards show it."""
    return None if found.mean is None else Estimate(found.mean, found.std, found.ci95, found.n, found.iqm)


def _times(seeds: Mapping[int, Run]) -> PooledTimes:
    at, reached = [run.time for run in seeds.values()], [run.reached for run in seeds.values()]
    found = times(at, reached, max(at, default=0.0))
    return PooledTimes(found.median, found.reached, found.ci95, kaplan_meier(at, reached) if at else [])


def stored_pooled(stored: Mapping[str, Any]) -> Pooled:
    """Read the statistics that were stored as JSON, which has no tuples."""
    named = {"value", "values", "diverged_ci95", "steps", "seconds"}
    return Pooled(
        **{name: content for name, content in stored.items() if name not in named},
        diverged_ci95=_pair(stored["diverged_ci95"]),
        value=stored["value"] and _stored_estimate(stored["value"]),
        values={name: _stored_estimate(estimate) for name, estimate in stored["values"].items()},
        steps=_stored_times(stored["steps"]),
        seconds=_stored_times(stored["seconds"]),
    )


def _stored_estimate(stored: Mapping[str, Any]) -> Estimate:
    return Estimate(**{**stored, "ci95": _pair(stored["ci95"])})


def _stored_times(stored: Mapping[str, Any]) -> PooledTimes:
    left = [(time, share) for time, share in stored["left"]]
    return PooledTimes(**{**stored, "ci95": _pair(stored["ci95"]), "left": left})


def _pair(stored: Sequence[Any] | None) -> Any:
    return stored and tuple(stored)
