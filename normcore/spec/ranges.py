"""Range of the numbers in a submitted spec: each number must fit into float32 unless the training is in float64."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from normcore.spec.errors import SpecError
from normcore.spec.experiment import ExperimentSpec, TrainingSpec

LARGEST = 3.4e38  # float32 ends at 3.403e38
PARTS = ("model", "norm", "training")

Path = tuple[str | int, ...]


def out_of_range(spec: ExperimentSpec) -> list[SpecError]:
    """List the numbers of a spec that a run could not compute with. Stored specs may have such numbers."""
    other = ""
    if isinstance(spec, TrainingSpec):
        if spec.training.precision == "float64":
            return []
        other = ", or use float64 as training.precision"
    numbers = (found for part in PARTS for found in _numbers((part,), getattr(spec, part, None)))
    limits = ((loc, number, _largest(spec, loc)) for loc, number in numbers)
    return [
        SpecError(loc, f"{number:g} is too large for float32; give {_bound(number, most)}{other}", "float32")
        for loc, number, most in limits
        if abs(number) > most
    ]


def _largest(spec: ExperimentSpec, loc: Path) -> float:
    """Largest number that fits at a path. Random numbers are drawn between -bias_init and bias_init, so twice bias_init
    must fit, too."""
    if loc[-1] == "bias_init":
        return LARGEST / 2
    if loc[-1] == "lr" and isinstance(spec, TrainingSpec):
        return largest_rate(spec.training.optimizer)
    return LARGEST


def largest_rate(optimizer: Any) -> float:
    """Largest learning rate whose first step fits: Adam divides the rate by 1 - beta1, the authors' Adam by beta1."""
    beta1 = getattr(optimizer, "beta1", 0.0)
    return LARGEST * ((beta1 or 1.0) if optimizer.name == "toronto_adam" else 1 - beta1)


def _bound(number: float, most: float) -> str:
    return f"{most:g} at most" if number > 0 else f"{-most:g} at least"


def _numbers(loc: Path, value: Any) -> Iterator[tuple[Path, float]]:
    """Yield path and value of each float in a part of a spec."""
    if isinstance(value, float):
        yield loc, value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _numbers((*loc, name), getattr(value, name))
    elif isinstance(value, tuple | list):
        for number, item in enumerate(value):
            yield from _numbers((*loc, number), item)
