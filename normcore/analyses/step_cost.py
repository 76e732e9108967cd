"""Analysis: cost of a training step with a normalization, relative to the same network without normalization.

Shapes: T steps, B cases.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from normcore.analyses.report import Report, Resources, Work
from normcore.clock import Clock
from normcore.events import Finding
from normcore.ranks import rank_below_median
from normcore.recurrent import Recurrent
from normcore.seeding import reproducible
from normcore.spec import AnalysisSpec
from normcore.spec.analyses.step_cost import StepCost as StepCostTask
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers.rmsprop import RMSProp
from normcore.training import optimizers

WARM_UP_PAIRS = 3
PAIRS = 45
LEVEL = 0.95
FEWEST_PAIRS = 6  # the range of five samples has the median with probability 1 - 2 / 2^5 = 0.94: too little


@dataclass(frozen=True, slots=True)
class StepCost:
    """Time of a training step with a method and without normalization, from pairs of steps.

    Attributes:
        seconds: time with the method, median over the pairs.
        none_seconds: time without normalization, median over the pairs.
        ratio: median of the ratios of the pairs. Unlike the ratio of the two medians, it does not change if the machine
            is slower for a while.
        ratio_ci95: confidence interval of the median ratio, at least 95 % if the pairs are independent.
    """

    seconds: float
    none_seconds: float
    ratio: float
    ratio_ci95: tuple[float, float]


def prepare(spec: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis: cost of a training step with the spec's norm in the spec's model."""
    model, norm, task = cast(RecurrentModel, spec.model), cast(Method, spec.norm), cast(StepCostTask, spec.task)

    def measure() -> Report:
        return Report(_findings(step_cost(model, norm, task.num_steps, task.batch_size, seed, resources.device)))

    def weigh() -> Report:
        x = torch.zeros(task.num_steps, task.batch_size, 1, device=resources.device)
        kept, none_kept = (kept_bytes(network(model, one, seed, resources.device), x) for one in (norm, NoNorm()))
        return Report([_memory_finding(kept / none_kept)])

    return Work([measure, weigh], device=resources.device)


def _memory_finding(ratio: float) -> Finding:
    of = "bytes that a training step keeps for its backward pass, with the method over without normalization"
    return Finding("memory_ratio", ratio, of, verdict=f"{ratio:.2f}x")


def _findings(cost: StepCost) -> list[Finding]:
    low, high = cost.ratio_ci95
    times = f"of {PAIRS} interleaved pairs, one training step with the method over one without normalization"
    return [
        Finding("ratio", cost.ratio, f"median {times}", verdict=f"{cost.ratio:.2f}x"),
        Finding("ratio.low", low, f"lower 95% bound of the median {times}"),
        Finding("ratio.high", high, f"upper 95% bound of the median {times}"),
        Finding("seconds", cost.seconds, "median time of a training step with the method"),
        Finding("none_seconds", cost.none_seconds, "median time of a training step without normalization"),
    ]


def step_cost(
    model: RecurrentModel,
    norm: Method,
    num_steps: int,
    batch_size: int,
    seed: int,
    device: torch.device,
    pairs: int = PAIRS,
) -> StepCost:
    """Time training steps with and without the method.

    A training step is forward pass, backward pass and update of a network that reads one number at each time step. The
    loss is the mean square of the last output; the optimizer is RMSProp; the kernel is the reference. The two networks
    take turns, so that a slow phase of the machine slows both. On a GPU each training step waits for the device.

    Args:
        num_steps: number T of time steps.
        batch_size: number B of cases.
        seed: seed of the weights and of the inputs; the inputs are standard normal.
        pairs: number of timed pairs.

    Raises:
        ValueError: the norm does not fit the cell, or there are too few pairs for the interval.
    """
    networks = [network(model, method, seed, device) for method in (norm, NoNorm())]
    with reproducible(seed, device, torch.get_num_threads()):
        x = torch.randn(num_steps, batch_size, 1, device=device)
        step, none_step = (training_step(network, x) for network in networks)
        return cost_of_pairs(time_pairs(step, none_step, pairs, Clock(device)))


def network(model: RecurrentModel, norm: Method, seed: int, device: torch.device) -> Recurrent:
    """Make a network to be timed. For the same seed, networks of all methods have the same weights."""
    with reproducible(seed, device, torch.get_num_threads()):
        return Recurrent(model, 1, norm).to(device)


def training_step(network: Recurrent, x: Tensor) -> Callable[[], None]:
    """Make a function that does one training step of ``network`` on x (T, B, 1), without waiting for the device."""
    optimizer = optimizers.build(RMSProp(), network.parameters())

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        y, _ = network(x)
        y[-1].square().mean().backward()
        optimizer.step()

    return step


def kept_bytes(network: Recurrent, x: Tensor) -> int:
    """Bytes that a forward pass of x (T, B, 1) keeps for its backward pass, without parameters and x itself."""
    kept: dict[int, torch.UntypedStorage] = {}  # views of one tensor share a storage

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        network(x)
    others = {tensor.untyped_storage().data_ptr() for tensor in (*network.parameters(), x)}
    return sum(storage.nbytes() for place, storage in kept.items() if place not in others)


def time_pairs(
    step: Callable[[], None], none_step: Callable[[], None], pairs: int, clock: Clock
) -> list[tuple[float, float]]:
    """Time the two steps in turns; returns the seconds of each pair, after some pairs to warm up."""
    timed = [(_seconds(step, clock), _seconds(none_step, clock)) for _ in range(WARM_UP_PAIRS + pairs)]
    return timed[WARM_UP_PAIRS:]


def cost_of_pairs(timed: Sequence[tuple[float, float]]) -> StepCost:
    """Compute the step cost from the seconds of all pairs: (with the method, without normalization).

    Raises:
        ValueError: there are too few pairs for the interval.
    """
    seconds, none_seconds = (statistics.median(column) for column in zip(*timed, strict=True))
    ratios = [with_method / without for with_method, without in timed]
    return StepCost(seconds, none_seconds, statistics.median(ratios), median_interval(ratios))


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """95 % confidence interval of the median, without assuming a distribution; its limits are two of the samples.

    Raises:
        ValueError: there are too few samples: even their full range has a confidence below 95 %.
    """
    n = len(samples)
    if n < FEWEST_PAIRS:
        raise ValueError(f"expected {FEWEST_PAIRS} or more samples, received {n}; a smaller range is below 95 %")
    k = rank_below_median(n, LEVEL)
    ordered = sorted(samples)
    return ordered[k - 1], ordered[n - k]


def _seconds(step: Callable[[], None], clock: Clock) -> float:
    clock.set(0.0)
    clock.start()
    step()
    return clock.stop_when_done()
