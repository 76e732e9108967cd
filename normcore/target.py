"""Time at which a curve reaches a target.

It counts as reached where a curve first holds it for some evaluations in a row: single evaluations of one run reach
levels by chance that the next ones do not have.
"""

from dataclasses import dataclass
from typing import NamedTuple

from normcore.spec.metric import Direction

HELD = 2  # evaluations


class Point(NamedTuple):
    """An evaluation."""

    step: int
    value: float
    seconds: float


class Time(NamedTuple):
    """Time when a target was reached. For a miss: the last evaluation that was below the target, 0 if there was
    none.
    """

    reached: bool
    steps: float
    seconds: float


@dataclass
class Aim:
    """A target, and what a curve has come to so far.

    Attributes:
        held: evaluations in a row that have reached the target, up to ``k``.
        crossing: steps and seconds where the first of these did.
        below: those of the last evaluation that did not.
        before: the last evaluation's step, seconds and how far it was over the target.
    """

    target: float
    direction: Direction
    k: int = HELD
    held: int = 0
    crossing: tuple[float, float] = (0.0, 0.0)
    below: tuple[float, float] = (0.0, 0.0)
    before: tuple[float, float, float] | None = None

    def note(self, point: Point) -> None:
        """The next evaluation; after the target was reached, no more of them count."""
        if self.held == self.k:
            return
        over = point.value - self.target if self.direction == "maximize" else self.target - point.value
        if over < 0:
            self.held, self.below = 0, (float(point.step), point.seconds)
        else:
            self.crossing = self.crossing if self.held else self._crossing(point, over)
            self.held += 1
        self.before = (float(point.step), point.seconds, over)

    def _crossing(self, point: Point, over: float) -> tuple[float, float]:
        """Linear between the evaluation before, which was below, and this one."""
        if self.before is None:
            return float(point.step), point.seconds
        step, seconds, below = self.before
        part = -below / (over - below)
        return step + part * (point.step - step), seconds + part * (point.seconds - seconds)

    @property
    def time(self) -> Time:
        return Time(True, *self.crossing) if self.held == self.k else Time(False, *self.below)
