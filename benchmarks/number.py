"""Number of the table: our value, the value it is compared with, their ratio, and the target."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a number: a limit on our value, or on the ratio of ours to theirs."""

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
    """One row of the table.

    Attributes:
        versus: name of what ``theirs`` measures.
        is_promise: True if a missed target is an error, not only a finding.
        met: True if the target is met; None without a target, or if ``theirs`` could not be measured.
        pairs: least and greatest ratio of one pair of samples, which shows how steady ``ratio`` is.
        samples: the samples of ``ours`` and ``theirs``, in the order in which they were measured.
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
    """Make a number from samples of both sides, which were measured in turns. ``theirs`` may be empty."""
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
    """Tell if every number that is a promise meets its target."""
    return not any(number.is_promise and number.met is False for number in numbers)


def percentile(percent: float) -> Statistic:
    """Nearest-rank percentile: the least sample that at least ``percent`` percent of the samples do not exceed."""
    return lambda samples: sorted(samples)[math.ceil(percent / 100 * len(samples)) - 1]
