"""Training steps of all contestants at one shape after the other, in turns."""

import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from benchmarks.kernels.contestants import Contestant, Shape
from benchmarks.kernels.measuring import METHODS, best_product, geometric_mean, give_back_freed_memory, in_turns
from benchmarks.library import loops, rivals
from benchmarks.machine import describe_machine
from normcore.kernels import cpu
from normcore.nn import LSTM

OF_TORCH, PRODUCTS = "nn.LSTM", "products"
BY_HAND = {"loop": loops.loop, "compiled cell": loops.compiled, "scripted loop": loops.scripted}
LIBRARIES = ("torch", "haste_pytorch_cpu", "haste_pytorch", "flashrnn")


@dataclass(frozen=True, slots=True)
class Row:
    """Times of all contestants at one shape.

    Attributes:
        seconds: median time of a training step of ``nn.LSTM``.
        ratios: for each other contestant, the median of the pairs' ratios of its time to that of ``nn.LSTM``; and for
            ``products`` that of the step's products alone, at the speed of the fastest product.
        kept: bytes that our layers keep for the backward pass, divided by those of ``nn.LSTM``; the largest of all
            methods.
        samples: for each contestant, the seconds of each round.
    """

    shape: Shape
    seconds: float
    ratios: Mapping[str, float]
    kept: float
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows that were measured with the same number of threads.

    Attributes:
        added_microseconds: time that a layer's forward pass takes besides the call of its kernel.
    """

    threads: int
    rows: Sequence[Row]
    added_microseconds: float

    def summary(self, name: str) -> tuple[float, float] | None:
        """Return the geometric mean and the maximum of a contestant's ratios. None if it is missing at a shape."""
        ratios = [row.ratios[name] for row in self.rows if name in row.ratios]
        return (geometric_mean(ratios), max(ratios)) if len(ratios) == len(self.rows) else None


def measure(threads: int, shapes: Iterable[Shape], seconds: float) -> Panel:
    limit = best_product(threads)  # sets the number of threads
    return Panel(threads, list(_rows(shapes, seconds, limit)), _added_microseconds())


def write(panels: Sequence[Panel], file: Path) -> None:
    """Write all numbers as JSON, with the machine, the commit and the versions."""
    numbers = [asdict(panel) for panel in panels]
    file.write_text(json.dumps({"machine": describe_machine(), "versions": _versions(), "panels": numbers}) + "\n")


def read(file: Path) -> list[Panel]:
    """Read what ``write`` wrote. Samples may be left out."""
    panels = json.loads(file.read_text(encoding="utf-8"))["panels"]
    for panel in panels:
        panel["rows"] = [Row(**{**row, "shape": Shape(*row["shape"])}) for row in panel["rows"]]
    return [Panel(**panel) for panel in panels]


def contestants(shape: Shape) -> dict[str, Contestant]:
    """Build all contestants, by the names of their columns."""
    theirs = torch.nn.LSTM(shape.inputs, shape.hidden)
    built = {OF_TORCH: Contestant(lambda x: theirs(x)[0], theirs)}
    for method in METHODS:
        layer = LSTM(shape.inputs, shape.hidden, norm=method)
        built[method] = Contestant(partial(_outputs, layer), layer)
    for name, build in {**BY_HAND, **rivals.installed()}.items():
        module = build(shape.inputs, shape.hidden)
        built[name] = Contestant(module, module)
    return built


def _outputs(layer: LSTM, x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = layer(x)[0]
    return y


def _rows(shapes: Iterable[Shape], seconds: float, limit: float) -> Iterator[Row]:
    """Measure each shape.

    Args:
        limit: floating-point operations per second of the fastest product.
    """
    for shape in shapes:
        x, grad = torch.randn(shape[:3]), torch.randn(shape.steps, shape.batch, shape.hidden)
        torch.compiler.reset()  # torch compiles a function no more than 8 times
        built = contestants(shape)
        give_back_freed_memory()
        works = [partial(one.train, x, grad) for one in built.values()]
        samples = dict(zip(built, in_turns(works, seconds), strict=True))
        theirs = samples[OF_TORCH]
        ratios = {
            name: statistics.median(our / their for our, their in zip(times, theirs, strict=True))
            for name, times in samples.items()
            if name != OF_TORCH
        }
        ratios[PRODUCTS] = shape.products("lstm", training=True) / limit / statistics.median(theirs)
        kept = max(built[method].kept(x) for method in METHODS) / built[OF_TORCH].kept(x)
        rounded = {name: [round(time, 7) for time in times] for name, times in samples.items()}
        yield Row(shape, statistics.median(theirs), ratios, kept, rounded)


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {**found, "kernels": cpu.describe_build("LSTM")}


def _added_microseconds() -> float:
    """Measure what a layer's forward pass takes besides the call of its kernel, at a shape with little to compute."""
    layer, x = LSTM(4, 8, norm="layer_norm"), torch.randn(2, 4, 4)
    state = layer.own_state(0, x)
    cell: Any = layer.view(0)
    samples: list[list[float]] = [[], []]
    works: list[Callable[[], object]] = [lambda: cpu.unroll(cell, x, state), lambda: layer(x)]
    with torch.no_grad():
        for _ in range(2_000):
            for of_work, work in zip(samples, works, strict=True):
                began = time.perf_counter()
                work()
                of_work.append(time.perf_counter() - began)
    alone, whole = map(statistics.median, samples)
    return 1e6 * (whole - alone)
