"""Memory of a GPU: the peak of a training step beside cuDNN and the reference, and the peak of trainings beside what
they are said to need.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import torch

from benchmarks.gpu_day.device import PRECISIONS, Device
from benchmarks.gpu_day.results import Case
from benchmarks.kernels import contestants
from benchmarks.kernels.contestants import GATES, Contestant, Shape
from benchmarks.kernels.measuring import METHODS
from benchmarks.memory import specs
from normcore import recurrent
from normcore.events import Started
from normcore.footprint import footprint
from normcore.run import run
from normcore.spec import resolve

STARTS = 4  # steps before the one that is measured: CUDA graphs are recorded, which have tensors of their own


def cases(device: Device) -> Iterator[Case]:
    torch.backends.cudnn.allow_tf32 = False
    cells = ["lstm"] if device.interpreted else list(GATES)
    for cell, precision, shape in product(cells, PRECISIONS, device.shapes):
        yield Case(f"{cell}, {precision}, {shape}", partial(peaks, device, cell, precision, shape))
    for name, written in list(specs())[: 1 if device.interpreted else None]:
        yield Case(f"training: {name}", partial(training_peak, device, written))


def peaks(device: Device, cell: str, precision: str, shape: Shape) -> dict[str, Any]:
    """Measure the peaks of a training step: cuDNN's, and by method the kernels' and the reference's."""

    def peak(build: Callable[[], Contestant]) -> int:
        return _peak(device, build, precision, shape)

    return {
        "cell": cell,
        "precision": precision,
        "shape": shape,
        "theirs": peak(lambda: contestants.of_torch(cell, shape)),
        "kernels": {m: peak(partial(contestants.by, device.unroll(), cell, m, shape)) for m in METHODS},
        "reference": {m: peak(partial(contestants.by, recurrent.unroll, cell, m, shape)) for m in METHODS},
    }


def _peak(device: Device, build: Callable[[], Contestant], precision: str, shape: Shape) -> int:
    """Bytes at the peak of a training step beyond its input, with weights, gradients and the tensors of graphs. On a
    CPU, bytes that are saved for the backward pass.
    """
    x = torch.randn(shape[:3], device=device.torch)
    grad = torch.randn(shape.steps, shape.batch, shape.hidden, device=device.torch)
    if device.interpreted:
        return device.bring(build(), precision).kept(x)
    _forget_graphs()
    before = torch.cuda.memory_allocated()
    contestant = device.bring(build(), precision)
    for _ in range(STARTS):
        contestant.train(x, grad)
    torch.cuda.reset_peak_memory_stats()
    contestant.train(x, grad)
    return torch.cuda.max_memory_allocated() - before


def _forget_graphs() -> None:
    from normcore.kernels.gpu import steps_by_graph  # needs triton

    steps_by_graph.GRAPHS.kinds.clear()
    torch.cuda.empty_cache()


def training_peak(device: Device, written: dict[str, Any]) -> dict[str, Any]:
    """Train a few updates; compare the peak with the prediction, which must not be above the peak."""
    spec = resolve({**written, "device": device.kind})
    found = footprint(spec)
    assert found is not None
    if not device.interpreted:
        _forget_graphs()
        torch.cuda.reset_peak_memory_stats()
    before = 0 if device.interpreted else torch.cuda.memory_allocated()
    kernels = [event.kernel for event in run(spec, 0, device=device.torch) if isinstance(event, Started)]
    peak = found.tensors if device.interpreted else torch.cuda.max_memory_allocated() - before
    return {"predicted": found.on("cuda"), "peak": peak, "kernel": kernels[0]}
