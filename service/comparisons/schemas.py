"""Answer types of comparisons: plain dataclasses of numbers."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from normcore.spec import names
from service.leaderboards.entry import Estimate
from service.leaderboards.schemas import Problem
from service.statistics.speedups import Bound
from service.statistics.values import Interval


@dataclass(slots=True)
class Curve:
    """Mean curve of an entry's seeds: lists with one number for each point.

    Attributes:
        steps, seconds: mean steps and seconds of the seeds; one of the two is the same for all seeds.
        mean: mean values.
        low, high: limits of the mean's confidence interval, for each point alone; null where only one seed has a value.
        n: number of seeds that have a value at the point.
    """

    steps: list[float]
    seconds: list[float]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    n: list[int]


@dataclass(slots=True)
class ComparedRun:
    """The run that counts for a seed, with its curve: rows of step, value and seconds."""

    run_id: str
    seed: int
    points: list[tuple[int, float, float]]


@dataclass(slots=True)
class EntryCurves:
    """Curves of an entry, without its other results.

    Attributes:
        first_end: the step at which the first of the seeds ends; later means have only the other seeds.
        n_seeds, n_diverged: number of seeds, and number of seeds that diverged.
    """

    fingerprint: str
    method: str
    changes: dict[str, Any]
    curve: Curve
    curve_by_seconds: Curve
    first_end: int
    n_seeds: int
    n_diverged: int
    name: str = ""

    def __post_init__(self) -> None:
        self.name = self.name or names.name(self.method, self.changes)


@dataclass(slots=True)
class Difference:
    """Test value of an entry minus the baseline's, for the seeds that converged.

    Attributes:
        ci95: confidence interval of ``mean``; null if the values have no spread.
        p_value: p-value of this pair alone.
        p_holm: p-value after Holm's correction for all pairs of entries within the budget; or for all pairs of entries,
            if the entry or the baseline is over the budget.
        seeds: seeds that both have.
    """

    mean: float
    ci95: Interval | None
    p_value: float
    p_holm: float
    seeds: list[int]


@dataclass(slots=True)
class Ratio:
    """Ratio of times: the baseline's divided by the entry's, as geometric means over the seeds.

    Attributes:
        ratio: null if both missed the target, or if their seconds do not compare.
        ci95: confidence interval of ``ratio``; null if one of the two missed the target.
    """

    ratio: float | None
    ci95: Interval | None


@dataclass(slots=True)
class Fraction:
    """Time of an entry divided by the baseline's time, the geometric mean over ``n`` seeds.

    Attributes:
        bound: ``at least`` if a run missed the level, so that the run's true time is longer; else null.
    """

    fraction: float
    ci95: Interval | None
    n: int
    bound: Literal["at least"] | None


@dataclass(slots=True)
class Split:
    """Speed-up over the baseline, split in its two factors: ``total`` is ``steps`` times ``seconds_per_step``.

    Attributes:
        steps: speed-up in steps to the board's target.
        seconds_per_step, total: speed-up in seconds per step and in seconds, from runs that were alone on their
            machines, on one hardware with one kernel.
        bound: whether the ratios are only bounds, because a seed missed the target; null if they are exact.
        to_baselines_best: the entry's time divided by the baseline's, both to the best level that the baseline of the
            same seed holds.
        own_best: the entry's time to its own best level, divided by the baseline's time to the baseline's best level.
    """

    steps: Ratio
    seconds_per_step: Ratio
    total: Ratio
    bound: Bound | None
    to_baselines_best: Fraction | None
    own_best: Fraction | None


Outcome = Literal["better", "worse", "not shown", "not tested"]


@dataclass(slots=True, kw_only=True)
class ComparedEntry:
    """One entry of a comparison. It is ranked as on boards, but only among the entries of the comparison.

    Attributes:
        name: the method with every option in which the spec differs from the profile; all entries have different names.
        budget: number of examples that a training may see.
        over_budget: whether this number is larger than the board's budget; such an entry has no rank.
        score: the number that ranks: the mean over all seeds. A seed that diverged has the value of a model that
            ignores its input, and no other seed counts as worse than this value. Null if all seeds diverged.
        rank: rank among the compared entries that are within the budget.
        rank_ci: lowest and highest rank that the entry may truly have, 95% for all compared entries at once.
        tie_group: number of the tie group. The first entry of a group is surely better than the first entry of the next
            group.
        above: the ranked entries that this entry is surely better than, by the values of converged seeds and by score:
            Holm-adjusted p-values by fingerprint.
        outcome: outcome against the baseline: better or worse by converged seeds and by score; null for the baseline.
        value: estimate of the metric that ranks; null if all seeds diverged.
        gap: whether the values of the seeds fall into two groups: some seeds did not take off, and no interval of the
            mean, or of a difference from it, holds for such values.
        curve, curve_by_seconds: mean curve by steps, and on a common grid of seconds to the end of the shortest run.
        difference, speedup: comparison with the baseline; null for the baseline itself, and where too little is known.
        survival: rows of a step, the share of the seeds that have not reached the target by then, and the limits of the
            share's confidence interval.
    """

    fingerprint: str
    method: str
    changes: dict[str, Any]
    kernel: str | None
    hardware: str | None
    seeds: list[int]
    n_diverged: int
    budget: int
    over_budget: bool
    score: float | None
    rank: int | None
    rank_ci: tuple[int, int] | None
    tie_group: int | None
    above: dict[str, float]
    outcome: Outcome | None
    value: Estimate | None
    gap: bool
    curve: Curve
    curve_by_seconds: Curve
    runs: list[ComparedRun]
    difference: Difference | None
    speedup: Split | None
    survival: list[tuple[float, float, float, float]]
    name: str = ""

    def __post_init__(self) -> None:
        self.name = self.name or names.name(self.method, self.changes)


@dataclass(slots=True)
class Comparison:
    """Entries of one problem at one profile, in the order in which they were asked for.

    Attributes:
        baseline: fingerprint of the entry that the others are compared with.
    """

    task: str
    profile: str
    problem: Problem
    baseline: str
    series: str
    unit: str
    direction: Literal["maximize", "minimize"] | None
    target: float | None
    entries: list[ComparedEntry]


COMPARISON = TypeAdapter(Comparison)
