"""Least memory that a training needs, computed from its spec without torch and without reading data.

The result is a lower bound, so that no training is refused that would fit. It leaves out what a method adds, what a
reference loop keeps beyond the fused kernels, temporaries, and evaluation. ``python -P -m benchmarks.memory`` compares
the bound with the measured peaks of trainings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from normcore.data.datasets import DATASETS
from normcore.spec import ExperimentSpec, TrainingSpec
from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.images import ImageClassification
from normcore.spec.tasks.pixels import PixelSequence

PROCESS_BYTES = 128 << 20  # least memory of a process that has imported torch, without the pages of files
HOLD_THEIR_FILES = (CharLM, ImageClassification, PixelSequence)  # in memory as on disk: a byte a pixel or character


@dataclass(frozen=True, slots=True)
class Footprint:
    """Least bytes of memory that a training needs, by purpose.

    Attributes:
        weights: bytes of the parameters, and of the parameters of the best model so far.
        gradients, optimizer: bytes of the gradients, and of the numbers that the optimizer keeps.
        backward: bytes that a forward pass keeps for the backward pass.
        data: bytes of the data set.
        process: bytes of Python and torch.
    """

    weights: int
    gradients: int
    optimizer: int
    backward: int
    data: int
    process: int

    @property
    def tensors(self) -> int:
        """Bytes of everything that lies in the device's memory: a GPU's memory, or the machine's for the CPU."""
        return self.weights + self.gradients + self.optimizer + self.backward + self.data

    def on(self, kind: str) -> int:
        """Bytes that the training needs in the memory of a kind of device, ``cpu`` or ``cuda``. Python and torch count
        for ``cpu`` only, because they lie in the machine's memory."""
        return needed_on(kind, self.tensors)


def needed_on(kind: str, tensors: int) -> int:
    """Compute the bytes that a training needs in the memory of a kind of device, from the bytes of its tensors. For
    ``cpu`` the bytes of the process are added."""
    return tensors + (PROCESS_BYTES if kind == "cpu" else 0)


def footprint(spec: ExperimentSpec) -> Footprint | None:
    """Compute the footprint of a spec's training; None for an analysis, or if the cost of the model is not known."""
    if not isinstance(spec, TrainingSpec):
        return None
    cost = spec.task.least_cost(spec.model)
    if cost is None:
        return None
    training = spec.training
    number = 8 if training.precision == "float64" else 4
    weights = cost.parameters * number
    return Footprint(
        weights=2 * weights,
        gradients=weights,
        optimizer=weights * training.optimizer.kept,
        backward=cost.kept * number * min(training.batch_size, spec.task.least_examples() or training.batch_size),
        data=_data_bytes(spec),
        process=PROCESS_BYTES,
    )


def _data_bytes(spec: TrainingSpec) -> int:
    if not isinstance(spec.task, HOLD_THEIR_FILES):
        return 0
    return sum(DATASETS[need.dataset].size for need in spec.task.needs() if need.dataset in DATASETS)


@dataclass(frozen=True, slots=True)
class Excess:
    """Size in a spec that makes a training too large for a memory.

    Attributes:
        field: path of the size in the spec.
        most: the largest value of the size that fits if nothing else changes; None if no value fits.
    """

    field: tuple[str, ...]
    most: int | None


def excess(spec: TrainingSpec, memory: int, kind: str) -> Excess:
    """Find the size to reduce in a spec that needs more than ``memory`` bytes on a kind of device.

    Each size is tried at half its value, or at the profile's value if that value is smaller. The result is the size
    whose change saves the most memory.
    """
    usual = spec.task.profiles[spec.task.profile]
    parts = {"model": usual.model, "training": usual.training, "task": usual.task}
    sizes = [size for part, written in parts.items() for size in _sizes(spec, part, written)]
    path, value, changed, _ = min(sizes, key=lambda size: _needed(size[2](min(size[1] // 2, size[3] or size[1])), kind))
    return Excess(path, _largest(value, lambda smaller: _needed(changed(smaller), kind) <= memory))


Changed = Callable[[int], TrainingSpec]


def _sizes(spec: TrainingSpec, part: str, usual: Any) -> Iterator[tuple[tuple[str, ...], int, Changed, int | None]]:
    """Yield the whole numbers in a part of a spec, which may decide the footprint. For each: its path, its value, a
    function that returns the spec with another value, and the profile's value."""
    options = getattr(spec, part)
    for name, value in options:
        if type(value) is int and value > 1:

            def changed(smaller: int, name: str = name) -> TrainingSpec:
                return spec.model_copy(update={part: options.model_copy(update={name: max(1, smaller)})})

            yield (part, name), value, changed, usual.get(name)
        elif isinstance(value, tuple) and value and all(type(size) is int for size in value):

            def capped(most: int, name: str = name, value: tuple[int, ...] = value) -> TrainingSpec:
                smaller = tuple(min(size, max(1, most)) for size in value)
                return spec.model_copy(update={part: options.model_copy(update={name: smaller})})

            yield (part, name), max(value), capped, max(usual.get(name, (1,)))


def _needed(spec: TrainingSpec, kind: str) -> int:
    found = footprint(spec)
    return found.on(kind) if found else 0


def _largest(value: int, fits: Callable[[int], bool]) -> int | None:
    """Find the largest number below ``value`` that fits, by bisection; None if 1 does not fit."""
    low, high = 0, value
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low or None
