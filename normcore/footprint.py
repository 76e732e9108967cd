"""The memory that a training needs at least, by its spec alone: without torch, and without reading data.

It is a lower bound, so that nothing is refused that would fit: what a method adds, what a reference loop keeps beyond
the fused kernels, temporaries and evaluation are left out. ``python -P -m benchmarks.memory`` holds it against the
peaks of trainings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from normcore.data.datasets import DATASETS
from normcore.spec import ExperimentSpec, TrainingSpec
from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.images import ImageClassification
from normcore.spec.tasks.pixels import PixelSequence

PROCESS_BYTES = 128 << 20  # of a process that has imported torch, at least, without the pages of files
HOLD_THEIR_FILES = (CharLM, ImageClassification, PixelSequence)  # as they are on the disk, a byte a pixel or character


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes that a training needs at least, by what they are for.

    Attributes:
        weights: the parameters, and those of the best model so far.
        gradients, optimizer: what the optimizer works with.
        backward: what a forward pass keeps for the backward pass.
        data: the data set.
        process: Python and torch.
    """

    weights: int
    gradients: int
    optimizer: int
    backward: int
    data: int
    process: int

    @property
    def tensors(self) -> int:
        """Bytes of all that lies in the memory of the device, be it a GPU's or the machine's."""
        return self.weights + self.gradients + self.optimizer + self.backward + self.data

    def on(self, kind: str) -> int:
        """Bytes of memory of this kind of device, ``cpu`` or ``cuda``. Python and torch lie in the machine's."""
        return needed_on(kind, self.tensors)


def needed_on(kind: str, tensors: int) -> int:
    """Bytes that a training needs of the memory of its kind of device, by those of its tensors."""
    return tensors + (PROCESS_BYTES if kind == "cpu" else 0)


def footprint(spec: ExperimentSpec) -> Footprint | None:
    """Footprint of the spec's training; None for an analysis, or if its model's cost is not known."""
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
    """The size to blame for what does not fit.

    Attributes:
        field: its path in the spec.
        most: the largest value that would fit, all else the same; None if none would.
    """

    field: tuple[str, ...]
    most: int | None


def excess(spec: TrainingSpec, memory: int, kind: str) -> Excess:
    """Find the size of a spec that matters most if it needs more than the ``memory`` of a kind of device: halving it
    saves most, or it is larger than the profile's.
    """
    usual = spec.task.profiles[spec.task.profile]
    parts = {"model": usual.model, "training": usual.training, "task": usual.task}
    sizes = [size for part, written in parts.items() for size in _sizes(spec, part, written)]
    path, value, changed, _ = min(sizes, key=lambda size: _needed(size[2](min(size[1] // 2, size[3] or size[1])), kind))
    return Excess(path, _largest(value, lambda smaller: _needed(changed(smaller), kind) <= memory))


Changed = Callable[[int], TrainingSpec]


def _sizes(spec: TrainingSpec, part: str, usual: Any) -> Iterator[tuple[tuple[str, ...], int, Changed, int | None]]:
    """The whole numbers of a part that its footprint may depend on: path, value, the spec with another value, and the
    profile's value."""
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
    """The largest number below ``value`` that fits, if 1 does: needs grow with sizes."""
    low, high = 0, value
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low or None
