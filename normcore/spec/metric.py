"""What a measured number means: its unit and which way is better."""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured quantity; a series ``valid.accuracy`` is the metric ``accuracy`` on the split ``valid``."""

    name: str
    unit: str
    direction: Direction

    def is_better(self, value: float, than: float) -> bool:
        """Whether ``value`` strictly beats ``than``."""
        return value > than if self.direction == "maximize" else value < than

    def reaches(self, value: float, target: float) -> bool:
        """Whether ``value`` is at least as good as ``target``."""
        return not self.is_better(target, value)


LOSS = Metric("loss", "nats", "minimize")
ACCURACY = Metric("accuracy", "", "maximize")
BITS_PER_CHAR = Metric("bits_per_char", "bits", "minimize")
GRAD_NORM = Metric("grad_norm", "", "minimize")

METRICS = {metric.name: metric for metric in (LOSS, ACCURACY, BITS_PER_CHAR, GRAD_NORM)}
"""By name, in which a series such as ``valid.accuracy`` ends."""
