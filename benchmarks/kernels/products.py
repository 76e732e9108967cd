"""``python -m benchmarks.kernels.products``: speed of modules if torch multiplied matrices by oneDNN instead of MKL.

``torch.nn.functional.linear`` calls MKL. On processors that are not Intel's, MKL uses nothing wider than AVX2. oneDNN,
which torch calls for convolutions, uses wider instructions. torch has oneDNN's product as a separate function.
"""

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.kernels.contestants import Shape, reference
from benchmarks.kernels.measuring import best_product, in_turns
from normcore.memory import keep_freed_memory

SECONDS = 5.0
BY_MKL = functional.linear


def main() -> int:
    """Print a row for each work with matrix products."""
    keep_freed_memory()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    print(f"1 thread; the best product runs at {best_product(1) / 1e9:.0f} GFLOP/s\n")
    print("| products of | by MKL | by oneDNN / by MKL |\n| --- | --- | --- |")
    for name, work in places():
        mkl, onednn = in_turns([work, by_onednn(work)], SECONDS)
        ratio = statistics.median(theirs / ours for ours, theirs in zip(mkl, onednn, strict=True))
        print(f"| {name} | {statistics.median(mkl) * 1e3:.1f} ms | {ratio:.2f} |", flush=True)
    return 0


def places() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield names and works. A work is a forward and a backward pass of a module."""
    for batch in (128, 4):
        layers = nn.Sequential(nn.Linear(784, 1000), nn.ReLU(), nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 10))
        yield f"feedforward, {batch} examples", _pass(layers, torch.randn(batch, 784))
    yield "a readout, 100 steps of 64 examples, 1,000 to 50", _pass(nn.Linear(1000, 50), torch.randn(6400, 1000))
    yield "a projection of inputs, the same, 50 to 4,000", _pass(nn.Linear(50, 4000), torch.randn(6400, 50))
    for shape in (Shape(100, 100, 1, 100), Shape(20, 64, 50, 1000)):
        contestant, x = reference("lstm", "layer_norm", shape), torch.randn(shape[:3])
        grad = torch.randn(shape.steps, shape.batch, shape.hidden)
        yield f"the reference's LSTM with layer norm, {shape}", lambda: contestant.train(x, grad)  # noqa: B023


def _pass(module: nn.Module, x: Tensor) -> Callable[[], None]:
    def both() -> None:
        module.zero_grad()
        module(x).sum().backward()

    return both


def by_onednn(work: Callable[[], None]) -> Callable[[], None]:
    def patched() -> None:
        with _linear_by_onednn():
            work()

    return patched


@contextmanager
def _linear_by_onednn() -> Iterator[None]:
    functional.linear = _Linear.apply
    try:
        yield
    finally:
        functional.linear = BY_MKL


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        rows = grad.flatten(0, -2)
        grad_x = _product(grad.contiguous(), weight.t()) if ctx.needs_input_grad[0] else None
        grad_bias = rows.sum(0) if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2] else None
        return grad_x, _product(rows.t(), x.flatten(0, -2).t()), grad_bias


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W' + b, by oneDNN."""
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return result


if __name__ == "__main__":
    raise SystemExit(main())
