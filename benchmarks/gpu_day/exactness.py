"""Exactness of all pairs of cell and method, by the check of a worker; then the layers of ``normcore.nn``.

The check compares each tensor of a forward and a backward pass with the reference in float64, and with eager torch.
Here the same is done for evaluation by the population, and for a longer sequence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu_day import layers
from benchmarks.gpu_day.device import Device, compile_in_parallel
from benchmarks.gpu_day.results import Case
from normcore import recurrent
from normcore.kernels.gpu import check
from normcore.kernels.gpu.check import Check, Precision, Sizes
from normcore.norms.population import batch_norms
from normcore.spec.kernels import FUSED_PAIRS

LONG = Sizes(steps=200, batch=32, inputs=32)
LONG_UNITS = 100
TINY = Sizes(steps=2, batch=3, inputs=3)
Pair = tuple[str, str]
Errors = dict[str, tuple[float, float]]
"""Errors of the kernels and of eager torch, relative to the largest number of the tensor, by tensor."""


def cases(device: Device) -> Iterator[Case]:
    """Yield the comparisons of all pairs, then the layers, then longer sequences."""
    pairs: Sequence[Pair]
    hidden: Sequence[int]
    torch.backends.cudnn.allow_tf32 = False
    pairs, sizes, hidden, longer = FUSED_PAIRS, check.EXACT, check.HIDDEN, LONG
    if device.interpreted:
        pairs, sizes, hidden, longer = FUSED_PAIRS[::4], TINY, (TINY.inputs,), replace(TINY, steps=3)
    everything = [(*pair, units, precision) for units, precision, pair in product(hidden, check.PRECISIONS, pairs)]
    yield compilation(device, pairs, hidden)
    for one in everything:
        yield _comparison(device, one, sizes)
    yield from layers.cases(device)
    for precision, pair in product(check.PRECISIONS, pairs):
        yield _comparison(device, (*pair, min(LONG_UNITS, max(hidden)), precision), longer)


def _comparison(device: Device, one: tuple[str, str, int, Precision], sizes: Sizes) -> Case:
    cell, method, units, precision = one
    name = f"{cell} with {method}, {units} units, {precision.name}, {sizes.steps} steps"
    return Case(name, partial(compare, device, *one, sizes))


def compilation(device: Device, pairs: Sequence[Pair], hidden: Sequence[int]) -> Case:
    """Make the case that compiles all kernels of a worker's check, and those of evaluation."""
    jobs = [(*pair, units, precision) for units, precision, pair in product(hidden, check.PRECISIONS, pairs)]
    return Case("compilation", partial(compile_in_parallel, device, compile_kernels, jobs), stall=300.0, always=True)


def compile_kernels(device: Device, cell: str, method: str, units: int, precision: Precision) -> None:
    """Launch all kernels of a check for two steps: kernels are not compiled for a number of steps."""
    of = Check(cell, method, device.torch, units, precision)
    for sizes in (TINY,) if device.interpreted else (check.EXACT, check.TIMED_SIZES):
        for with_lengths in (False, True):
            of.median_errors(device.unroll(), replace(sizes, steps=2), with_lengths)
    evaluation_errors(of, device, replace(sizes, steps=2))


def compare(device: Device, cell: str, method: str, units: int, precision: Precision, sizes: Sizes) -> dict[str, Any]:
    """Compare a pair in training and in evaluation. From the third network on, kernels of one step run by CUDA graphs;
    the second time they all do.
    """
    of, unroll = Check(cell, method, device.torch, units, precision), device.unroll()
    found: dict[str, Errors] = {}
    for again in ("", ", again")[: 1 if device.interpreted else 2]:
        for lengths in ("", " with lengths"):
            found[f"training{lengths}{again}"] = of.median_errors(unroll, sizes, bool(lengths))
    found["evaluation"] = evaluation_errors(of, device, sizes)
    errors = {f"{name}, {where}": both for where, tensors in found.items() for name, both in tensors.items()}
    worst = max(errors, key=lambda name: errors[name][0])
    return {
        "cell": cell,
        "method": method,
        "units": units,
        "precision": precision.name,
        "steps": sizes.steps,
        "tensors": len(errors),
        "worst": worst,
        "error": errors[worst][0],
        "eager_error": errors[worst][1],
        "most_times_eager": max((ours / eager for ours, eager in errors.values() if eager), default=None),
        "wrong": [name for name, (ours, eager) in errors.items() if not ours <= of.bound(eager)],
    }


def evaluation_errors(of: Check, device: Device, sizes: Sizes) -> Errors:
    """Compute the errors of a pass without gradients, with population statistics for norms over the batch, in the
    median of some networks."""
    networks = []
    for seed in range(check.NETWORKS):
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            built, x, start, _ = of.draw_case(sizes, seed, with_lengths=False)
            _know_a_population(built.eval(), sizes.steps)
            with device.autocast(of.precision.name):
                ours, eager = (_outputs(by, built, x, start) for by in (device.unroll(), recurrent.unroll))
            doubled = type(start)(*(part.double() for part in start))
            exact = _outputs(recurrent.unroll, built.double(), x.double(), doubled)
            networks.append((check.relative(ours, exact), check.relative(eager, exact)))
    return {
        name: (median(ours[name] for ours, _ in networks), median(eager[name] for _, eager in networks))
        for name in networks[0][0]
    }


def _outputs(unroll: check.Unroll, built: Any, x: Tensor, start: Any) -> dict[str, Tensor]:
    done = unroll(built, x, start)
    return {"y": done.y, **{f"end.{name}": part for name, part in zip(start._fields, done.end, strict=True)}}


def _know_a_population(built: Any, steps: int) -> None:
    """Give the norms over the batch means around 0 and variances around 1."""
    for norm in batch_norms(built).values():
        like = norm.running_mean.new_zeros(steps, norm.running_mean.shape[1])
        norm.running_mean = 0.1 * torch.randn_like(like)
        norm.running_var = 0.5 + torch.rand_like(like)
