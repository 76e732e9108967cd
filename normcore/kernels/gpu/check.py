"""Try the kernels on the device on which they will run: do they give the reference's results, and are they faster?

The tests of the kernels use an interpreter, and compile without a device. So each cell and method is tried before it
first runs on a device: in float32 and under autocast to bfloat16, with W_h on the chip and step by step, without
lengths and with lengths, and again by CUDA graphs. ``docs/develop/kernels-gpu.md`` has the error bounds.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from normcore import recurrent
from normcore.kernels.gpu.verdicts import KernelVerdict
from normcore.recurrent import Recurrent
from normcore.recurrent.unroll import UnrolledCell
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS

Unroll = Callable[..., UnrolledCell]
Named = dict[str, Tensor]
Amounts = dict[str, float]

NETWORKS = 3  # the median of their errors counts: one network may be far off by chance, as in eager torch
STARTS = 4  # calls before timing: they include compilation, and the recording of a graph in the third call
TIMED = 7  # timed pairs: reference and kernel take turns


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a check: steps, examples and input features."""

    steps: int
    batch: int
    inputs: int


@dataclass(frozen=True, slots=True)
class Precision:
    """A precision with its error bounds: ``error`` relative to a tensor's largest number, ``times_eager`` relative to
    the error of eager torch. The larger bound counts."""

    name: str
    error: float
    times_eager: float
    autocast: bool


PRECISIONS = (Precision("float32", 1e-5, 5.0, False), Precision("bfloat16", 2e-2, 2.5, True))
EXACT = Sizes(steps=16, batch=32, inputs=32)
TIMED_SIZES = Sizes(steps=100, batch=64, inputs=64)
HIDDEN = (64, 100, 256)
"""Units of the networks in a check. With 64 units, W_h fits on the chip in each kind of check; with 100 units in some,
in a tile that W_h does not fill; with 256 units in few."""


def try_out(
    cell: str,
    method: str,
    device: torch.device,
    unroll: Unroll,
    *,
    hidden: tuple[int, ...] = HIDDEN,
    exact: Sizes = EXACT,
    timed: Sizes = TIMED_SIZES,
) -> KernelVerdict:
    """Try the kernels of a cell with a method on a device, and compare their results and times with the reference.

    Args:
        cell, method: tags of the cell and the method.
        unroll: the kernels' ``unroll``.
    """
    slowest = math.inf
    with torch.random.fork_rng(devices=[]):
        for units in hidden:
            for precision in PRECISIONS:
                check = Check(cell, method, device, units, precision)
                wrong = check.wrong(unroll, exact)
                if wrong is None:
                    slowest = min(slowest, check.speedup(unroll, timed))
                    wrong = check.wrong(unroll, exact)  # by graphs, which replay from the third call of a shape on
                if wrong is not None:
                    return KernelVerdict(f"with {units} units in {precision.name}, {wrong}", None)
    return KernelVerdict(None, slowest)


@dataclass(frozen=True, slots=True)
class Check:
    """Check of the kernels of one cell with one method, for one number of units and one precision."""

    cell: str
    method: str
    device: torch.device
    units: int
    precision: Precision

    def wrong(self, unroll: Unroll, sizes: Sizes) -> str | None:
        """Name a tensor whose error, in the median of some networks, is too large; None if no error is too large."""
        for with_lengths in (False, True):
            for name, (off, eager) in self.median_errors(unroll, sizes, with_lengths).items():
                if not off <= self.bound(eager):
                    lengths = " with lengths" if with_lengths else ""
                    return f"{name} has a relative error of {off:.1e}{lengths}; eager torch has {eager:.1e}"
        return None

    def median_errors(self, unroll: Unroll, sizes: Sizes, with_lengths: bool) -> dict[str, tuple[float, float]]:
        """Compute the errors of each tensor by the kernels and by eager torch, in the median of some networks."""
        ours, eagers = zip(*self._errors(unroll, sizes, with_lengths), strict=True)
        return {name: (_median_of(name, ours), _median_of(name, eagers)) for name in ours[0]}

    def bound(self, eager: float) -> float:
        """Compute the largest allowed error of a tensor, from eager torch's own error of this tensor. An eager error
        that is not finite does not raise the limit.
        """
        return max(self.precision.error, self.precision.times_eager * eager if math.isfinite(eager) else 0.0)

    def _errors(self, unroll: Unroll, sizes: Sizes, with_lengths: bool) -> Iterator[tuple[Amounts, Amounts]]:
        """Yield the errors of the kernels and of eager torch, against the reference in float64, for each network."""
        for seed in range(NETWORKS):
            built, x, start, mask = self.draw_case(sizes, seed, with_lengths)
            found, eager = (self.run(by, built, x, start, mask) for by in (unroll, recurrent.unroll))
            exact = _run_both_passes(
                recurrent.unroll, built.double(), x.double(), type(start)(*(part.double() for part in start)), mask
            )
            yield relative(found, exact), relative(eager, exact)

    def speedup(self, unroll: Unroll, sizes: Sizes) -> float:
        """Measure the reference's time divided by the kernels' time, for a forward and backward pass: the median of
        several pairs of timings."""
        built, x, start, _ = self.draw_case(sizes, 0, with_lengths=False)

        def seconds(by: Unroll) -> float:
            self._wait()
            began = time.perf_counter()
            self.run(by, built, x, start, None)
            self._wait()
            return time.perf_counter() - began

        for _ in range(STARTS):
            seconds(unroll)
        seconds(recurrent.unroll)
        return median(seconds(recurrent.unroll) / seconds(unroll) for _ in range(TIMED))

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def run(self, unroll: Unroll, built: Any, x: Tensor, start: Any, mask: Tensor | None) -> Named:
        autocast = torch.autocast(self.device.type, torch.bfloat16) if self.precision.autocast else nullcontext()

        def under_autocast(*arguments: Any) -> UnrolledCell:
            with autocast:
                return unroll(*arguments)

        return _run_both_passes(under_autocast, built, x, start, mask)

    def draw_case(self, sizes: Sizes, seed: int, with_lengths: bool) -> tuple[Any, Tensor, Any, Tensor | None]:
        """Draw a cell whose parameters all differ, inputs, a first state, and with lengths a mask of the steps that
        each example has."""
        torch.manual_seed(seed)
        kind, norm = CELLS[self.cell], METHODS[self.method]
        options = kind.model_validate({"hidden_size": self.units})
        moments = {"population": "running"} if "population" in norm.model_fields else {}  # each pass needs them
        of_norm = norm.model_validate({**norm.defaults(kind), **moments})
        built: Any = Recurrent(options, sizes.inputs, of_norm).cells[0]
        with torch.no_grad():
            for parameter in built.parameters():
                parameter.add_(0.05 * torch.randn_like(parameter))
        start = built.initial_state(sizes.batch)
        start = type(start)(*(0.1 * torch.randn(part.shape).to(self.device) for part in start))
        x = torch.randn(sizes.steps, sizes.batch, sizes.inputs).to(self.device)
        lengths = torch.arange(sizes.batch) * sizes.steps // (sizes.batch - 1)
        mask = torch.arange(sizes.steps).unsqueeze(1) < lengths
        return built.to(self.device), x, start, mask.to(self.device) if with_lengths else None


def _run_both_passes(unroll: Unroll, built: Any, x: Tensor, start: Any, mask: Tensor | None) -> Named:
    """Run a forward and backward pass; return all outputs, the state after the last step, the moments, and the
    gradients of everything that a loss depends on."""
    leaves = {"x": x.detach().requires_grad_()}
    leaves |= {f"{name}0": part.detach().requires_grad_() for name, part in start._asdict().items()}
    first = type(start)(*(leaves[f"{name}0"] for name in start._fields))
    leaves |= dict(built.named_parameters())
    done = unroll(built, leaves["x"], first, 0, mask)
    loss = _sum_weighted(done.y) + sum(map(_sum_weighted, done.end))
    gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    return {
        "y": done.y.detach(),
        **{f"end.{name}": part.detach() for name, part in zip(start._fields, done.end, strict=True)},
        **{f"moments of {name}": moments for name, moments in done.moments.items()},
        **{f"grad of {name}": g for name, g in zip(leaves, gradients, strict=True) if g is not None},
    }


def _median_of(name: str, networks: Sequence[Amounts]) -> float:
    return median(errors[name] for errors in networks)


def _sum_weighted(outputs: Tensor) -> Tensor:
    """Sum all outputs, each with a different weight."""
    weights = torch.cos(torch.arange(outputs.numel(), device=outputs.device)).view(outputs.shape)
    return (outputs * weights.to(outputs.dtype)).sum()


def relative(found: Named, exact: Named) -> Amounts:
    """Compute the largest error of each tensor, relative to the tensor's largest number; infinite if the tensor is
    missing or has a NaN."""
    return {name: _off(found[name], expected) if name in found else math.inf for name, expected in exact.items()}


def _off(found: Tensor, expected: Tensor) -> float:
    size = max(expected.abs().max().item(), torch.finfo(torch.float32).tiny)
    off = (found.double() - expected).abs().max().item() / size
    return math.inf if math.isnan(off) else off
