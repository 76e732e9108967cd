"""``python -m benchmarks.library``: a training step of ``normcore.nn.LSTM`` beside ``torch.nn.LSTM``, and beside
layer-normalized LSTMs as people write them in Python."""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks.kernels.contestants import Contestant, Shape
from benchmarks.kernels.measuring import METHODS, QUICK, SHAPES, geometric_mean, give_back_freed_memory, in_turns
from benchmarks.library import loops
from normcore.kernels import cpu
from normcore.memory import keep_freed_memory
from normcore.nn import LSTM

SECONDS, QUICK_SECONDS = 6.0, 0.5
BY_HAND = {"loop": loops.loop, "compiled cell": loops.compiled, "scripted loop": loops.scripted}
COLUMNS = ("nn.LSTM", *METHODS, *BY_HAND)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.library", description=__doc__)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="two small shapes in a minute: does it run at all")
    options = parser.parse_args(arguments)
    keep_freed_memory()  # for all contestants
    torch.set_flush_denormal(True)
    for threads in options.threads:
        torch.set_num_threads(threads)
        print(f"\n{threads} thread{'s' if threads > 1 else ''}: a training step, divided by that of nn.LSTM\n")
        print(_table(QUICK if options.quick else SHAPES, QUICK_SECONDS if options.quick else SECONDS))
        print(f"\nA layer adds {_added_microseconds():.0f} microseconds to a call of its kernel.")
    return 0


def contestants(shape: Shape) -> dict[str, Contestant]:
    """Build all contestants, by the names of their columns."""
    theirs = torch.nn.LSTM(shape.inputs, shape.hidden)
    built = {"nn.LSTM": Contestant(lambda x: theirs(x)[0], theirs)}
    for method in METHODS:
        layer = LSTM(shape.inputs, shape.hidden, norm=method)
        built[method] = Contestant(partial(_outputs, layer), layer)
    for name, build in BY_HAND.items():
        module = build(shape.inputs, shape.hidden)
        built[name] = Contestant(module, module)
    return built


def _outputs(layer: LSTM, x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = layer(x)[0]
    return y


def _table(shapes: Sequence[Shape], seconds: float) -> str:
    """Measure each shape; return a table in Markdown with the median of the pairs' ratios, and the kept memory."""
    head = ("shape (T,B,F,H)", "nn.LSTM", *COLUMNS[1:], "kept / nn.LSTM")
    rows = [head, tuple("---" for _ in head)]
    found: dict[str, list[float]] = {name: [] for name in COLUMNS[1:]}
    for shape in shapes:
        x, grad = torch.randn(shape[:3]), torch.randn(shape.steps, shape.batch, shape.hidden)
        torch.compiler.reset()  # torch compiles a function no more than 8 times
        built = contestants(shape)
        give_back_freed_memory()
        theirs, *samples = in_turns([partial(one.train, x, grad) for one in built.values()], seconds)
        for name, times in zip(found, samples, strict=True):
            found[name].append(statistics.median(our / their for our, their in zip(times, theirs, strict=True)))
        of_torch = built["nn.LSTM"].kept(x)
        kept = max(built[method].kept(x) / of_torch for method in METHODS)
        told = (f"{found[name][-1]:.2f}" for name in found)
        rows.append((str(shape), f"{1e3 * statistics.median(theirs):.1f} ms", *told, f"{kept:.2f}"))
    rows.append(("geometric mean", "", *(f"{geometric_mean(ratios):.2f}" for ratios in found.values()), ""))
    rows.append(("worst", "", *(f"{max(ratios):.2f}" for ratios in found.values()), ""))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _added_microseconds() -> float:
    """Measure what a layer's forward pass takes besides the call of its kernel, at a shape with little to compute."""
    layer, x = LSTM(4, 8, norm="layer_norm"), torch.randn(2, 4, 4)
    state = layer.own_state(0, x)
    cell: Any = layer.view(0)
    with torch.no_grad():
        alone, whole = _medians(lambda: cpu.unroll(cell, x, state), lambda: layer(x))
    return 1e6 * (whole - alone)


def _medians(*works: Callable[[], object]) -> list[float]:
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(2_000):
        for of_work, work in zip(samples, works, strict=True):
            began = time.perf_counter()
            work()
            of_work.append(time.perf_counter() - began)
    return [statistics.median(of_work) for of_work in samples]


if __name__ == "__main__":
    raise SystemExit(main())
