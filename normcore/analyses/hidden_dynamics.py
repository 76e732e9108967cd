"""Analysis: growth of a recurrent network's summed inputs from step to step. Ba, Kiros, Hinton 2016,
arXiv:1607.06450v1, section 3.1.

Shapes: T steps, B cases, F inputs or features.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import linear_regression
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from normcore.analyses.report import Report, Resources, Work
from normcore.events import Finding
from normcore.norms.population import batch_statistics
from normcore.recurrent import Recurrent
from normcore.spec import AnalysisSpec, resolve
from normcore.spec.analyses.hidden_dynamics import CASES, STEPS, HiddenDynamics
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel

RECURRENT_SITES = ("norm_h", "norm_sum")  # norms that W_h h enters have names that begin so
IMPULSE_STD = 1e-7  # so small that tanh stays linear, even if a scale of 2 doubles the state 19 times
CLAIMS = {"none": "grows or shrinks", "layer_norm": "stable"}  # about the RNN that is the task's default
STABLE = 0.01  # growth below this multiplies a magnitude by less than 1.11 in ten steps


@dataclass(frozen=True, slots=True)
class SiteDynamics:
    """Size of the summed inputs of one norm at every step.

    A magnitude is a root mean square over all cases and features of a step. Each step multiplies the magnitude by
    e^growth: growth is the slope of ln(magnitude), fitted by least squares over the second half of the steps, where the
    start no longer matters. Steps of magnitude 0 are left out; growth is None if fewer than two steps are left.

    Attributes:
        weight_scale: factor that W_h was multiplied by.
        site: the norm's name in the network, such as ``cells.0.norm_sum``.
        summed_inputs: T magnitudes of the norm's input: W_h h at ``norm_h``, W_h h + W_x x at ``norm_sum``.
        normalized: T magnitudes of the norm's output. At the RNN's ``norm_sum`` the nonlinearity receives this output
            (and a bias, if it is added outside the norm); at ``norm_h`` the output is only the state's contribution.
        growth: growth of ``summed_inputs``.
        normalized_growth: growth of ``normalized``.
    """

    weight_scale: float
    site: str
    summed_inputs: list[float]
    normalized: list[float]
    growth: float | None
    normalized_growth: float | None


def prepare(spec: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis of section 3.1 on an untrained network of the spec's model and norm.

    There is one piece for each scale of W_h.
    """
    model, norm = cast(RecurrentModel, spec.model), cast(Method, spec.norm)
    network = Recurrent(model, model.hidden_size, norm)
    scales = cast(HiddenDynamics, spec.task).weight_scales
    return Work([partial(_measure_growth, network, scale, seed, _claim(spec, scale)) for scale in scales])


def _claim(spec: AnalysisSpec, scale: float) -> str | None:
    """Claim of the paper about the task's default network; None for other networks.

    It is also None without normalization at scale 1, where an orthogonal W_h keeps all lengths.
    """
    norm = cast(Method, spec.norm)
    usual = resolve({"task": {"name": spec.task.name}, "norm": {"method": norm.method}})
    keeps_lengths = norm.method == "none" and scale == 1
    return CLAIMS.get(norm.method) if (spec.model, norm) == (usual.model, usual.norm) and not keeps_lengths else None


def _measure_growth(network: Recurrent, scale: float, seed: int, claim: str | None) -> Report:
    dynamics = section_3_1(network, scale, seed)
    return Report(
        [finding_of(d, name, claim) for d in dynamics for name in ("summed_inputs", "normalized")],
        {
            f"{d.site}.{name} W_h*{scale:g}": list(enumerate(getattr(d, name)))
            for d in dynamics
            for name in ("summed_inputs", "normalized")
        },
    )


def finding_of(dynamics: SiteDynamics, name: str, claim: str | None) -> Finding:
    """Finding on the growth of ``summed_inputs`` or ``normalized``, as ``name`` says.

    The claim is compared only at ``norm_sum``, as it is about everything that enters the nonlinearity.
    """
    growth = dynamics.growth if name == "summed_inputs" else dynamics.normalized_growth
    verdict = None if growth is None else "stable" if abs(growth) < STABLE else "grows" if growth > 0 else "shrinks"
    finding = Finding(
        f"{dynamics.site}.{name} W_h*{dynamics.weight_scale:g}",
        growth,
        f"each of the later steps multiplies its magnitude by e to the power of this; stable up to {STABLE:g}",
        verdict=verdict,
    )
    if claim is None or verdict is None or "norm_sum" not in dynamics.site:
        return finding
    return finding.against(claim, verdict in claim.split(" or "), "LN section 3.1")


def hidden_dynamics(network: Recurrent, x: Tensor, weight_scale: float) -> list[SiteDynamics]:
    """Run the network over x (T, B, F) with W_h multiplied by a scale, and measure at every norm that W_h h enters.

    Computed in float64 on a copy of the network; batch norms use the statistics of the B cases. A site that the method
    does not normalize is an identity: its two magnitudes are equal. Steps of a backward direction are in the order in
    which that direction reads.
    """
    scaled = copy.deepcopy(network).double()
    for cell in scaled.cells:
        register_parametrization(cell, "weight_hh", ScaledWeight(weight_scale))
    watched = {
        name: _watch_magnitudes(module)
        for name, module in scaled.named_modules()
        if name.rpartition(".")[2].startswith(RECURRENT_SITES)
    }
    with torch.no_grad(), batch_statistics(scaled):
        scaled(x.double())
    return [
        SiteDynamics(weight_scale, site, summed, normalized, growth_per_step(summed), growth_per_step(normalized))
        for site, (summed, normalized) in watched.items()
        if summed
    ]


def section_3_1(network: Recurrent, weight_scale: float, seed: int) -> list[SiteDynamics]:
    """Measure the claim of section 3.1 on an untrained network with W_h multiplied by ``weight_scale``.

    The claim: in a standard RNN the average magnitude of the summed inputs tends to grow or to shrink at every step.
    With layer norm, which is invariant to rescaling all of them, it is stable.

    The network gets twenty inputs; only the first is not 0. From the second step on, everything comes from the state,
    and from biases that do not start at 0. The first input is so small that tanh stays linear without normalization.
    Its variance is also far below the usual eps. A norm multiplies by at most 1 / sqrt(eps), so it needs some steps to
    take effect.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.zeros(STEPS, CASES, network.input_size)
    x[0] = IMPULSE_STD * torch.randn(CASES, network.input_size, generator=generator)
    return hidden_dynamics(network, x, weight_scale)


def growth_per_step(magnitudes: Sequence[float]) -> float | None:
    """Growth as in ``SiteDynamics``: slope of ln(magnitude) over the second half of the steps."""
    half = len(magnitudes) // 2
    points = [(t, math.log(magnitude)) for t, magnitude in enumerate(magnitudes[half:]) if magnitude > 0]
    return linear_regression(*zip(*points, strict=True)).slope if len(points) > 1 else None


class ScaledWeight(nn.Module):
    """Parametrization W -> scale W, applied after other parametrizations of W."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, weight: Tensor) -> Tensor:
        return self.scale * weight


def _watch_magnitudes(norm: nn.Module) -> tuple[list[float], list[float]]:
    """Record the magnitudes of the inputs and the outputs of ``norm``; each call of ``norm`` appends to both lists."""
    entering: list[float] = []
    leaving: list[float] = []

    def watch(_: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> None:
        entering.append(_root_mean_square(arguments[0]))
        leaving.append(_root_mean_square(output))

    norm.register_forward_hook(watch)
    return entering, leaving


def _root_mean_square(a: Tensor) -> float:
    """Root mean square, correct also if the squares of values underflow."""
    greatest = a.abs().max()
    return float(greatest * (a / greatest).square().mean().sqrt()) if greatest else 0.0
