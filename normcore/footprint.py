"""Least memory that a run needs, a training or an analysis, computed from its spec without torch and without reading
data.

The result is a lower bound, so that no run is refused that would fit. It leaves out what a method adds, what a
reference loop keeps beyond the fused kernels, temporaries, and evaluation. ``python -P -m benchmarks.memory`` compares
the bound with the measured peaks of trainings. An analysis computes its own bound: ``Analysis.least_memory``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from normcore.data.datasets import DATASETS
from normcore.spec import AnalysisSpec, ExperimentSpec, TrainingSpec
from normcore.spec.part import Part
from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.images import ImageClassification
from normcore.spec.tasks.pixels import PixelSequence

PROCESS_BYTES = 128 << 20  # least memory of a process that has imported torch, without the pages of files
HOLD_THEIR_FILES = (CharLM, ImageClassification, PixelSequence)  # in memory as on disk: a byte a pixel or character


@dataclass(frozen=True, slots=True)
class Footprint:
    """Least bytes of memory that a run needs, by purpose.

    Attributes:
        weights: bytes of the parameters. For a training they count twice, because the parameters of the best model so
            far are kept.
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
        """Bytes that the run needs in the memory of a kind of device, ``cpu`` or ``cuda``. Python and torch count for
        ``cpu`` only, because they lie in the machine's memory."""
        return compute_needed_bytes(kind, self.tensors)


class FootprintOnCpu(Footprint):
    """Footprint of a run whose tensors lie in the machine's memory even if the worker has a GPU."""

    def on(self, kind: str) -> int:
        return Footprint.on(self, kind) if kind == "cpu" else 0


def compute_needed_bytes(kind: str, tensors: int) -> int:
    """Compute the bytes that a run needs in the memory of a kind of device, from the bytes of its tensors. For
    ``cpu`` the bytes of the process are added."""
    return tensors + (PROCESS_BYTES if kind == "cpu" else 0)


def footprint(spec: ExperimentSpec) -> Footprint | None:
    """Estimate the memory that a run of a spec needs; None if the model's cost is not known, or if the run is an
    analysis that does not tell its needs.
    """
    if isinstance(spec, AnalysisSpec):
        return _of_analysis(spec)
    assert isinstance(spec, TrainingSpec)
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


def _of_analysis(spec: AnalysisSpec) -> Footprint | None:
    least = spec.task.least_memory(spec.model, spec.norm)
    if least is None:
        return None
    kind = FootprintOnCpu if least.on_cpu else Footprint
    return kind(least.weights, least.gradients, least.optimizer, least.backward, least.data, PROCESS_BYTES)


def _data_bytes(spec: TrainingSpec) -> int:
    if not isinstance(spec.task, HOLD_THEIR_FILES):
        return 0
    return sum(DATASETS[need.dataset].size for need in spec.task.needs() if need.dataset in DATASETS)


@dataclass(frozen=True, slots=True)
class Excess:
    """Size in a spec that makes a run too large for a memory.

    Attributes:
        field: path of the size in the spec.
        most: the largest value of the size that fits if nothing else changes; None if no value that is allowed fits.
    """

    field: tuple[str, ...]
    most: int | None


def excess(spec: ExperimentSpec, memory: int, kind: str) -> Excess:
    """Find the size to reduce in a spec that needs more than ``memory`` bytes on a kind of device.

    Each size is tried at half its value, or at the profile's value if that value is smaller. The result is the size
    whose change saves the most memory. If the spec has no size, the result is its task.
    """
    usual = spec.task.profiles[spec.task.profile]
    parts = {"model": usual.model, "training": usual.training, "task": usual.task}
    sizes = [size for part, written in parts.items() for size in _sizes(spec, part, written)]
    if not sizes:
        return Excess(("task", "name"), None)
    found = min(
        sizes, key=lambda size: _estimate_bytes(size.changed(min(size.value // 2, size.usual or size.value)), kind)
    )
    most = _largest(found.value, lambda smaller: _estimate_bytes(found.changed(smaller), kind) <= memory)
    return Excess(found.path, most if most and most >= found.least else None)


class _Size(NamedTuple):
    """A whole number in a spec, which may decide the footprint.

    Attributes:
        path: path of the number in the spec.
        changed: function that returns the spec with another value.
        usual: value of the profile; None if the profile does not name the number.
        least: least value that is allowed.
    """

    path: tuple[str, ...]
    value: int
    changed: Callable[[int], ExperimentSpec]
    usual: int | None
    least: int


def _sizes(spec: ExperimentSpec, part: str, usual: Mapping[str, Any]) -> Iterator[_Size]:
    """Yield the sizes in a part of a spec; none if the spec has no such part."""
    options: Any = getattr(spec, part, None)
    for name, value in () if options is None else options:
        if type(value) is int and value > 1:

            def shrink_number(smaller: int, name: str = name) -> ExperimentSpec:
                return spec.model_copy(update={part: options.model_copy(update={name: max(1, smaller)})})

            yield _Size((part, name), value, shrink_number, usual.get(name), _least(options, name))
        elif isinstance(value, tuple) and value and all(type(size) is int for size in value):

            def cap_numbers(most: int, name: str = name, value: tuple[int, ...] = value) -> ExperimentSpec:
                smaller = tuple(min(size, max(1, most)) for size in value)
                return spec.model_copy(update={part: options.model_copy(update={name: smaller})})

            yield _Size((part, name), max(value), cap_numbers, max(usual.get(name, (1,))), 1)


def _least(options: Part, name: str) -> int:
    """Least value that is allowed for an option that is a whole number."""
    bounds = [getattr(rule, "ge", None) for rule in type(options).model_fields[name].metadata]
    return max([1, *(bound for bound in bounds if isinstance(bound, int))])


def _estimate_bytes(spec: ExperimentSpec, kind: str) -> int:
    found = footprint(spec)
    return found.on(kind) if found else 0


def _largest(value: int, fits: Callable[[int], bool]) -> int | None:
    """Find the largest number below ``value`` that fits, by bisection; None if 1 does not fit."""
    low, high = 0, value
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low or None
