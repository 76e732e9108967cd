"""A number of the table: ours, the comparison's, their ratio, and what it has to be."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Target:
    """A limit on our own value or on the ratio of ours to the comparison's."""

    of: Literal["ours", "ratio"]
    sense: Literal["at least", "at most", "under"]
    limit: float

    def is_met(self, value: float) -> bool:
        if self.sense == "at least":
            return value >= self.limit
        return value < self.limit if self.sense == "under" else value <= self.limit

    def __str__(self) -> str:
        return f"{self.of} {self.sense} {self.limit:,g}"


@dataclass(frozen=True, slots=True)
class Number:
    """One row.

    Attributes:
        versus: what ``theirs`` is.
        is_promise: whether missing the target is an error, not only a finding.
        met: None without a target, or where the comparison could not be measured.
        pairs: least and greatest ratio of one pair, which says how steady ``ratio`` is.
        samples: what ``ours`` and ``theirs`` are the statistic of, in the order of measuring.
    """

    name: str
    unit: str
    ours: float
    versus: str = ""
    theirs: float | None = None
    target: Target | None = None
    is_promise: bool = False
    pairs: tuple[float, float] | None = None
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.theirs else None

    @property
    def met(self) -> bool | None:
        value = self.ratio if self.target and self.target.of == "ratio" else self.ours
        return None if self.target is None or value is None else self.target.is_met(value)


def number(
    name: str,
    unit: str,
    ours: Sequence[float],
    *,
    versus: str = "",
    theirs: Sequence[float] = (),
    target: Target | None = None,
    statistic: Statistic = statistics.median,
) -> Number:
    """Ours and theirs from samples that were taken in turns; ``theirs`` may be empty."""
    paired = len(ours) == len(theirs) and statistic is statistics.median
    ratios = [our / their for our, their in zip(ours, theirs, strict=True)] if paired else []
    return Number(
        name=name,
        unit=unit,
        ours=statistic(ours),
        versus=versus,
        theirs=statistic(theirs) if theirs else None,
        target=target,
        pairs=(min(ratios), max(ratios)) if ratios else None,
        samples={"ours": list(ours), "theirs": list(theirs)},
    )


def promises_kept(numbers: Sequence[Number]) -> bool:
    """Tell if every number meets the target that it promises to meet."""
    return not any(number.is_promise and number.met is False for number in numbers)


def percentile(percent: float) -> Statistic:
    """The nearest-rank percentile: the least sample that so many percent do not exceed."""
    return lambda samples: sorted(samples)[math.ceil(percent / 100 * len(samples)) - 1]
