"""Metric: its unit, direction and bounds."""

import re
from dataclasses import dataclass
from typing import Literal

Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured quantity. The series ``valid.accuracy`` is the metric ``accuracy`` on the split ``valid``.

    Attributes:
        no_skill: value for a model that ignores its input, in words; None for a metric that judges no model.
        least, most: least and largest possible value; None if there is no such limit.
    """

    name: str
    unit: str
    direction: Direction
    no_skill: str | None = None
    least: float | None = None
    most: float | None = None

    def is_better(self, value: float, than: float) -> bool:
        """Tell if ``value`` is strictly better than ``than``."""
        return value > than if self.direction == "maximize" else value < than

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Least and largest possible value of the metric; None for a limit that does not exist."""
        return self.least, self.most

    def can_be(self, value: float) -> bool:
        """Tell if the metric can have this value."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    @property
    def limits(self) -> str:
        """Bounds of the metric, in words."""
        if self.least is None or self.most is None:
            return "any number" if self.least is None else f"{self.least:g} or more"
        return f"{self.least:g} to {self.most:g}"


LOSS = Metric("loss", "nats", "minimize")
ACCURACY = Metric("accuracy", "", "maximize", "1 / classes", 0, 1)
ERROR_RATE = Metric("error_rate", "", "minimize", "1 - 1 / classes", 0, 1)
BITS_PER_CHAR = Metric("bits_per_char", "bits", "minimize", "log2(symbols)", 0)
NATS = Metric("nats", "nats", "minimize", "that of a model that knows each pixel's frequency alone", 0)
GRAD_NORM = Metric("grad_norm", "", "minimize")

SHARES = re.compile(r"accuracy|error_rate|(.*_)?recall|.*_r\d+")


def is_share(metric: str) -> bool:
    """Tell if the values of a metric of this name are shares from 0 to 1, which are shown to people in per cent."""
    return SHARES.fullmatch(metric) is not None


OF_EVERY_TASK = (LOSS, GRAD_NORM)
"""Metrics that the training loop measures for every task."""
