"""LSTM and GRU beside cuDNN and our own reference: training steps, and evaluation.

In float32, no contestant rounds factors to TF32. By default, torch allows this rounding for cuDNN only; separate
measurements tell how much cuDNN gains by it.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from typing import Any

import torch

from benchmarks.gpu_day.device import PRECISIONS, Device, compile_in_parallel
from benchmarks.gpu_day.results import Case
from benchmarks.kernels import contestants
from benchmarks.kernels.contestants import Contestant, Shape, evaluated
from benchmarks.kernels.measuring import METHODS, compared, in_turns
from normcore import recurrent

SECONDS = 0.5
STARTS = 4  # passes that are not timed: CUDA graphs are recorded in the third
CELLS = ("lstm", "gru")


def cases(device: Device) -> Iterator[Case]:
    """Yield the measurements of both cells: first what compiles, then float32, TF32 and bfloat16 of each cell."""
    torch.backends.cudnn.allow_tf32 = False
    pairs = list(product(CELLS, METHODS))
    yield compilation(device, pairs)
    for precision in PRECISIONS:
        yield Case(f"best product, {precision}", partial(best_product, device, precision))
    for cell in CELLS:
        for precision in PRECISIONS:
            yield from comparisons(device, [(cell, method) for method in METHODS], precision)
            if precision == "float32":
                yield from (
                    Case(f"{cell}, TF32, {shape}", partial(rounded, device, cell, shape)) for shape in device.shapes
                )


def compilation(device: Device, pairs: Sequence[tuple[str, str]]) -> Case:
    jobs = [(*pair, precision) for precision in PRECISIONS for pair in pairs]
    return Case("compilation", partial(compile_in_parallel, device, compile_kernels, jobs), stall=300.0, always=True)


def comparisons(device: Device, pairs: Sequence[tuple[str, str]], precision: str) -> Iterator[Case]:
    for shape, (cell, method) in product(device.shapes, pairs):
        name = f"{cell}, {precision}, {shape}, {method}"
        yield Case(name, partial(compare, device, cell, method, shape, precision))


def compile_kernels(device: Device, cell: str, method: str, precision: str) -> None:
    """Launch the kernels of a pair at all shapes, for two steps: kernels are not compiled for a number of steps."""
    for shape in device.shapes:
        short = shape._replace(steps=2)
        ours, x, grad = _ours(device, cell, method, short, precision), *_data(device, short)
        ours.train(x, grad)
        evaluated(ours, short.steps).evaluate(x)


def compare(device: Device, cell: str, method: str, shape: Shape, precision: str) -> dict[str, Any]:
    """Time a cell with a method beside cuDNN's cell without a norm, and beside the reference."""
    ours, theirs, slow = (
        _ours(device, cell, method, shape, precision),
        device.bring(contestants.of_torch(cell, shape), precision),
        device.bring(contestants.by(recurrent.unroll, cell, method, shape), precision),
    )
    three, data = (ours, theirs, slow), _data(device, shape)
    if device.interpreted:
        return asdict(compared(cell, method, shape, precision, three, *data, 0.0, least=1, starts=1))
    return asdict(compared(cell, method, shape, precision, three, *data, SECONDS, turns=3, least=3, starts=STARTS))


def _ours(device: Device, cell: str, method: str, shape: Shape, precision: str) -> Contestant:
    return device.bring(contestants.by(device.unroll(), cell, method, shape), precision)


def _data(device: Device, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw an input and a gradient of the outputs."""
    return (
        torch.randn(shape[:3], device=device.torch),
        torch.randn(shape.steps, shape.batch, shape.hidden, device=device.torch),
    )


def best_product(device: Device, precision: str) -> dict[str, Any]:
    """Measure the floating-point operations per second of a large matrix product."""
    size = 64 if device.interpreted else 8192
    a = torch.randn(size, size, device=device.torch, dtype=PRECISIONS[precision])

    def work() -> None:
        torch.mm(a, a)
        device.wait()

    [samples] = in_turns([work], 0.0 if device.interpreted else 1.0)
    return {"rate": 2 * size**3 / min(samples)}


def rounded(device: Device, cell: str, shape: Shape) -> dict[str, Any]:
    """Time cuDNN's training step without and with TF32."""
    x, grad = _data(device, shape)
    contestant = device.bring(contestants.of_torch(cell, shape), "float32")

    def train(allowed: bool) -> None:
        torch.backends.cudnn.allow_tf32 = allowed
        contestant.train(x, grad)

    exact, fast = in_turns([partial(train, False), partial(train, True)], SECONDS)
    torch.backends.cudnn.allow_tf32 = False
    return {"cell": cell, "shape": shape, "exact": statistics.median(exact), "rounded": statistics.median(fast)}
