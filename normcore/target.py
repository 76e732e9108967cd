"""Time at which a curve reaches a target.

A target counts as reached where a curve first holds it for ``HELD`` evaluations in a row. A single evaluation may reach
a level by chance, and the next evaluation may miss the level again.
"""

from dataclasses import dataclass
from typing import NamedTuple

from normcore.spec.metric import Direction

HELD = 2  # evaluations


class Point(NamedTuple):
    """Point of a curve: the step, the value and the training seconds of an evaluation."""

    step: int
    value: float
    seconds: float


class Time(NamedTuple):
    """Time at which a target was reached. If it was not reached: the time of the last evaluation below the target, 0 if
    there was no such evaluation.
    """

    reached: bool
    steps: float
    seconds: float


@dataclass
class Aim:
    """Target of a curve, and how far the curve has come towards it.

    Attributes:
        k: evaluations in a row that must hold the target.
        held: the last evaluations in a row that have held the target, up to ``k``.
        crossing: steps and seconds at which the curve crossed the target before these evaluations.
        below: steps and seconds of the last evaluation that did not reach the target.
        before: the last evaluation: its step, its seconds, and by how much its value is better than the target.
    """

    target: float
    direction: Direction
    k: int = HELD
    held: int = 0
    crossing: tuple[float, float] = (0.0, 0.0)
    below: tuple[float, float] = (0.0, 0.0)
    before: tuple[float, float, float] | None = None

    def note(self, point: Point) -> None:
        """Take in the next evaluation. After the target was reached, evaluations are ignored."""
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
        """Find the steps and seconds at which the curve crossed the target: linear between the evaluation before, which
        was below the target, and the evaluation ``point``."""
        if self.before is None:
            return float(point.step), point.seconds
        step, seconds, below = self.before
        part = -below / (over - below)
        return step + part * (point.step - step), seconds + part * (point.seconds - seconds)

    @property
    def time(self) -> Time:
        return Time(True, *self.crossing) if self.held == self.k else Time(False, *self.below)
