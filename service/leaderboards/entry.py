"""Pooling of one fingerprint's results into its entry: plain values in, plain values out.

The unit of evidence is the seed. Runs that repeat a seed repeat its numbers, so only one of these runs counts.
Otherwise one seed that is run ten times would look like certainty.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from normcore.spec.metric import Direction, Metric
from normcore.target import Time
from service.statistics.spread import cut_number
from service.statistics.times import SeedTime, TimeUnit, kaplan_meier, times
from service.statistics.values import Interval, Limits, Value, value, worth

Numbers = tuple[float | None, float]  # value and steps
TestItems = Callable[[str], int | None]
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of one succeeded run, as an entry needs it.

    Attributes:
        value: test value of the task's first metric; None if the run diverged before a model was selected.
        values: test values of all of the task's metrics.
        valid_value: validation value of the model that was tested.
        no_skill: value of a model that ignores its input; None for runs that are older than this field.
        reached: whether the run reached the board's target; None if the run had no target, or another target.
        steps, seconds: time to the target, or the length of the run if it was not reached.
        max_steps: largest number of updates that the run may have.
        machine, hardware: see ``machines``.
        contended: whether something else kept the machine busy, or nobody can tell; then the seconds do not count.
        elsewhere: first numbers of this seed on other machines, by machine.
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
        """Value and steps. A machine gives the same two numbers if it trains this seed once more."""
        return self.value, self.steps

    @property
    def converged(self) -> float | None:
        """Test value; None if the run diverged, even if it had reached a value before."""
        return None if self.diverged else self.value

    def worth(self, direction: Direction) -> float | None:
        """Value with which the run enters a score: never worse than a model that ignores its input."""
        if self.diverged or self.value is None:
            return self.no_skill
        return worth(self.value, direction, self.no_skill)


@dataclass(frozen=True, slots=True)
class SucceededRuns:
    """The succeeded runs of one fingerprint and one code.

    Attributes:
        n_runs: number of these runs.
        results: the run that counts for each seed, in the order of the seeds.
        conflicting_seeds: seeds for which the same machine gave different numbers.
    """

    n_runs: int = 0
    results: Sequence[RunResult] = ()
    conflicting_seeds: Sequence[int] = ()

    def and_also(self, result: RunResult) -> "SucceededRuns":
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
        return SucceededRuns(self.n_runs + 1, [counting[seed] for seed in sorted(counting)], sorted(conflicting))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate of a metric over the seeds that converged.

    Attributes:
        std: standard deviation with n - 1; None for one seed, and for a paper's number.
        ci95: confidence interval of the mean; None for one seed, and for a paper's number.
        n: number of seeds that converged; None for a paper's number.
        iqm: mean of the middle half of all seeds, where seeds that diverged are the worst; None below five seeds.
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
        median: median time; None if it is not known, because too few seeds reached the target.
        reached: number of seeds that reached the target.
        ci95: confidence interval of the median; an upper limit of None is not known.
        left: pairs of a time and the share of seeds that have not reached the target by then.
    """

    median: float | None
    reached: int
    ci95: tuple[float, float | None] | None
    left: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class EntryStatistics:
    """Statistics of an entry that need no other entry.

    Attributes:
        value: estimate of the first metric; None if all seeds diverged.
        values: estimates of all metrics.
        valid_value: mean of the validation values, which chooses among a method's entries. A value worse than
            ``no_skill`` counts as ``no_skill``.
        score: mean of all seeds. A seed that diverged counts as ``no_skill``, the value of a model that ignores its
            input. So does a seed with a worse value.
        contended: number of seeds whose run shared its machine with other work.
        hardware: hardware on which most seeds without a contended run ran; None if all runs are contended.
        kernel: kernel that all runs used; ``mixed`` if the runs differ, or if a run used several kernels.
        steps: times to the target in steps.
        seconds: times to the target in seconds, on ``hardware`` only.
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


def pool(results: Sequence[RunResult], metrics: Sequence[Metric], test_items: TestItems) -> EntryStatistics:
    """Pool the runs that count.

    Args:
        metrics: metrics of the runs' task; the first metric ranks.
        test_items: function that tells how many test items a metric counts, by its name (``Benchmark.test_items``).
    """
    of_metrics = {metric.name: _value(results, metric, test_items(metric.name)) for metric in metrics}
    first = of_metrics[metrics[0].name]
    chosen_by = [
        cut_number(worth(result.valid_value, metrics[0].direction, result.no_skill))
        for result in results
        if result.valid_value is not None and not result.diverged
    ]
    hardware = hardware_of_most_seeds(results)
    return EntryStatistics(
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
    """Test values of the seeds that converged, by seed."""
    return {run.seed: run.converged for run in results if run.converged is not None}


def hardware_of_most_seeds(results: Iterable[RunResult]) -> str | None:
    """Hardware on which most seeds ran alone; of several with equally many seeds, the first by name."""
    counts: dict[str, int] = {}
    for result in results:
        if not result.contended:
            counts[result.hardware] = counts.get(result.hardware, 0) + 1
    return min(counts, key=lambda name: (-counts[name], name), default=None)


def on(hardware: str | None, results: Iterable[RunResult]) -> list[RunResult]:
    """The runs with seconds that compare: on this hardware, and alone on their machine."""
    return [result for result in results if result.hardware == hardware and not result.contended]


def times_of(results: Iterable[RunResult], by: TimeUnit) -> dict[int, SeedTime]:
    """Time to the target by seed. Runs that did not have the board's target are left out."""
    return {
        result.seed: SeedTime(result.steps if by == "steps" else result.seconds, result.reached)
        for result in results
        if result.reached is not None
    }


def spans_of(results: Iterable[RunResult]) -> dict[int, Time]:
    """Time to the target by seed, in steps and seconds. Runs that did not have the board's target are left out."""
    return {
        result.seed: Time(result.reached, result.steps, result.seconds)
        for result in results
        if result.reached is not None
    }


def kernel_of(runs: Iterable[str | None]) -> str | None:
    """Kernel that all runs used; ``mixed`` if the runs differ, or if a run used several kernels. Seconds of different
    kernels do not compare."""
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
    """Estimate of a value, as boards show it; None if no seed converged."""
    return None if found.mean is None else Estimate(found.mean, found.std, found.ci95, found.n, found.iqm)


def _times(seeds: Mapping[int, SeedTime]) -> PooledTimes:
    at, reached = [run.time for run in seeds.values()], [run.reached for run in seeds.values()]
    found = times(at, reached, max(at, default=0.0))
    return PooledTimes(found.median, found.reached, found.ci95, kaplan_meier(at, reached) if at else [])


def read_pooled(stored: Mapping[str, Any]) -> EntryStatistics:
    """Read the statistics that were stored as JSON, which has no tuples."""
    named = {"value", "values", "diverged_ci95", "steps", "seconds"}
    return EntryStatistics(
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
