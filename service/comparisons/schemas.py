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
    """The seeds' mean at each of some points, with its interval at each by itself.

    Attributes:
        steps, seconds: means over the seeds; one of them is the same for all seeds.
        low, high: null at points that one seed alone has.
        n: seeds that have a value there.
    """

    steps: list[float]
    seconds: list[float]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    n: list[int]


@dataclass(slots=True)
class ComparedRun:
    """The run of a seed that counts, and its curve: step, value, seconds."""

    run_id: str
    seed: int
    points: list[tuple[int, float, float]]


@dataclass(slots=True)
class Curved:
    """An entry's curves alone.

    Attributes:
        first_end: the step at which the first of its seeds ends; a mean of later ones is one of survivors.
        n_seeds, n_diverged: how many it is of, and how many of them diverged.
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
    """Own test value minus the baseline's, of seeds that converged.

    Attributes:
        ci95: null where no value differs from its mean.
        p_value: of this pair alone.
        p_holm: after Holm's correction for all pairs of the entries within the budget, and for all pairs if one of
            the two is over it.
        seeds: that both have.
    """

    mean: float
    ci95: Interval | None
    p_value: float
    p_holm: float
    seeds: list[int]


@dataclass(slots=True)
class Ratio:
    """The baseline's over the own, geometric means of the seeds.

    Attributes:
        ratio: null where neither reaches the target, or seconds do not compare.
        ci95: null where one misses the target.
    """

    ratio: float | None
    ci95: Interval | None


@dataclass(slots=True)
class Fraction:
    """Own time over the baseline's, the geometric mean of ``n`` seeds.

    Attributes:
        bound: ``at least`` if a run missed the level, so that its time would be longer.
    """

    fraction: float
    ci95: Interval | None
    n: int
    bound: Literal["at least"] | None


@dataclass(slots=True)
class Split:
    """Speed-up over the baseline, split in its two factors: ``total`` is ``steps`` times ``seconds_per_step``.

    Attributes:
        steps: to the board's target.
        seconds_per_step, total: of runs that were alone on their machines, of one hardware and one kernel.
        bound: whether a missed target makes the ratios bounds.
        to_baselines_best: own time over the baseline's, to the best level that the baseline of the same seed holds.
        own_best: own time to the own best level over that of the baseline to its own.
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
    """One of the entries. Who is above whom is decided as on boards, among the entries of the comparison.

    Attributes:
        name: the method with every option in which the spec differs from the profile; no two share one.
        budget: examples that a training may see.
        over_budget: whether these are more than the board's; such an entry has no rank.
        score: what ranks: the mean over all seeds. A seed that diverged is worth what a model gets that ignores its
            input, and no other seed counts as worse than that. Null if all diverged.
        rank: among the entries compared that are within the budget.
        rank_ci: the ranks that it may truly have, 95% for all of them at once.
        tie_group: the first entry of a group is better than that of the next.
        above: Holm's p by fingerprint, of the ranked entries that it is surely better than, by the values of converged
            seeds and by score.
        outcome: beside the baseline, better or worse by both; null of the baseline itself.
        value: null if all seeds diverged.
        gap: whether the values of the seeds fall into two groups: some seeds did not take off, and no interval of the
            mean, or of a difference from it, holds for such values.
        curve, curve_by_seconds: by steps, and on a common grid of seconds to the end of the shortest run.
        difference, speedup: null of the baseline itself, and where too little is known.
        survival: share of the seeds that have not reached the target at a step, with its interval.
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
        baseline: the fingerprint of the one that others are compared with.
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
