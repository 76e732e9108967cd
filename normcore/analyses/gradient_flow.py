"""Analysis: how far gradients reach back in time, for each gain. Cooijmans et al. 2017, arXiv:1603.09025v5, Fig. 1.

Shapes: T steps, B cases, F inputs, H hidden units.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from normcore.analyses.report import Report, Resources, Work
from normcore.data import digits, mnist
from normcore.data.images import ImageSplits
from normcore.events import Finding
from normcore.models.readout import orthogonal_readout
from normcore.recurrent import Recurrent, states
from normcore.seeding import order_generator, reproducible
from normcore.spec import AnalysisSpec, resolve
from normcore.spec.analyses.gradient_flow import CLASSES, GradientFlow
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel

IMAGES: Mapping[str, Callable[[Path | None], ImageSplits]] = {"digits": lambda _: digits.load(), "mnist": mnist.load}
FIRST_STEPS = 3  # before this step the published norms have a spike
BETWEEN_BATCHES = 1.3  # decades by which norms of different batches differ at t = 100
OF_THE_LOSS = 0.5  # share of the published decades lost; a gradient that keeps its size is off by all of them
AT_THE_END = 0.03  # decades: the softmax's residual through an orthonormal readout, the same for all gains
LAST = 783  # the last step of Fig. 1a
FIGURE_1A: Mapping[float, Mapping[int, float]] = {
    0.1: {100: -3.10, 783: -2.02},
    0.2: {100: -2.97, 783: -2.02},
    0.3: {100: -2.76, 783: -2.02},
    0.4: {100: -4.14, 783: -2.02},
    0.5: {100: -9.69, 783: -2.02},
    0.6: {100: -17.9, 783: -2.02},
    1.0: {700: -18.2, 783: -2.02},
}
"""log10 of the published norms, by gain and step, as read off the figure; the text has no numbers."""
FIGURE_1B = (0.1, 0.3, 0.5, 1.0)
"""Standard deviations out of the figure's range, 0 to 1. Section 4 says in words what it shows, without numbers."""
CLOSE_TO_1 = 0.95  # our reading of "close to 1", at the least standard deviation
MUCH_SMALLER = 0.75  # our reading of "much smaller than 1", at unit standard deviation
QUADRATURE_NODES = 100  # for standard deviations up to 1, more change the mean by less than 1e-9


@dataclass(frozen=True, slots=True)
class TanhDerivative:
    """Distribution of tanh'(a) = 1 - tanh(a)^2 for normal a with mean 0.

    Attributes:
        std: standard deviation of a.
        lower_quartile: the derivative is below this value with probability 1/4.
        upper_quartile: the derivative is above this value with probability 1/4.
    """

    std: float
    mean: float
    lower_quartile: float
    upper_quartile: float


def prepare(spec: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis of Figs. 1a and 1b: one piece for each gain, on images that ``seed`` draws.

    All gains see the same weights and the same noise.

    Section 4 says "a simple RNN on the sequential MNIST task", the caption "a batch-normalized tanh RNN".

    Deviations: the authors' code for this figure was never released. So their images, the order of pixels, the noise
    and the place of the norm are not known. In-order pixels, noise on the first state and W_h = I are taken from
    section 5.1. The norm of the sum W_h h + W_x x is our choice, as in LN Eq. 4. On MNIST our numbers then agree with
    the published numbers, up to the spread of batches and seeds, at gains up to 0.4, and at gain 1 near the end. At
    gains 0.5 and 0.6 the published gradients vanish faster. Permuted pixels without noise come closer. The test has
    the numbers.
    """
    task = cast(GradientFlow, spec.task)
    splits = IMAGES[task.images](resources.datasets_dir)
    drawn = torch.randperm(len(splits.train), generator=order_generator(seed))[: task.cases]
    images = splits.train[drawn].to(resources.device)
    model, norm = cast(RecurrentModel, spec.model), cast(Method, spec.norm)

    def measure(gain: float | None) -> Report:
        flow = gradient_flow(model, _with_gain(norm, gain), images.sequences(torch.float64), images.labels, seed)
        name = "gradient_norm" if gain is None else f"gradient_norm gain={gain:g}"
        claimed = figure_1a_findings(name, gain, flow) if gain is not None and _is_figure_1a(spec) else ()
        finding = flow_finding(name, flow)
        if gain is not None:
            finding = replace(finding, parameters={"gain": gain})
        return Report([finding, *claimed], {name: list(enumerate(flow))})

    has_gain = "gain_init" in type(norm).model_fields
    gains = task.gains if has_gain and task.gains else (None,)
    return Work([*(partial(measure, gain) for gain in gains), _measure_figure_1b], splits.checksums, resources.device)


def gradient_norms(network: Recurrent, readout: nn.Module, x: Tensor, labels: Tensor) -> Tensor:
    """Gradient norm ||dL/dh_t|| at every step, mean over the cases: (T,).

    L is the mean cross-entropy over the B cases, with logits read out of the last step. h_t is the hidden state of the
    last layer. dL/dh_t holds the rest of the state at step t (an LSTM's c_t) constant; at other steps gradients flow
    through this rest, too.

    Args:
        network: network in one direction. Its mode, training or evaluation, decides which statistics its norms use.
        x: (T, B, F).
        labels: (B,) int64.

    Raises:
        ValueError: the network is bidirectional.
    """
    if network.directions == 2:
        raise ValueError(
            "expected a network in one direction, received a bidirectional one; no state of it is the last"
        )
    h = _states(network, x)
    loss = functional.cross_entropy(readout(h[-1]), labels)
    return torch.stack([_lengths(gradient).mean() for gradient in torch.autograd.grad(loss, h)])


def gradient_flow(model: RecurrentModel, norm: Method, x: Tensor, labels: Tensor, seed: int) -> list[float]:
    """Gradient norms of an untrained network with an orthogonal readout; ``seed`` draws network and readout.

    Computed in float64, as at a gain of 1 the norms are too small for float32.

    Args:
        x: (T, B, F).
        labels: (B,) int64, less than 10.
    """
    with reproducible(seed, x.device, torch.get_num_threads()):
        network = Recurrent(model, x.shape[2], norm).to(x.device, torch.float64)
        readout = orthogonal_readout(model.hidden_size, CLASSES).to(x.device, torch.float64)
        return cast(list[float], gradient_norms(network, readout, x.double(), labels).tolist())


def figure_1b(stds: Iterable[float]) -> list[TanhDerivative]:
    """Mean and quartiles of tanh's derivative at normal summed inputs, computed without sampling (Fig. 1b).

    The mean is a Gauss-Hermite quadrature. The derivative falls with |a|, so its quartiles are its values at the
    quartiles of |a|.
    """
    z, weights = hermegauss(QUADRATURE_NODES)
    far, near = (NormalDist().inv_cdf(p) for p in (7 / 8, 5 / 8))  # |z| is below them with probability 3/4 and 1/4
    derivatives = []
    for std in stds:
        mean = weights @ _tanh_derivative(std * z) / weights.sum()
        lower, upper = _tanh_derivative(std * np.array([far, near]))
        derivatives.append(TanhDerivative(std, float(mean), float(lower), float(upper)))
    return derivatives


def _with_gain(norm: Method, gain: float | None) -> Method:
    return norm if gain is None else norm.model_copy(update={"gain_init": gain})


def decades_lost(flow: Sequence[float]) -> float:
    """Decades that the gradient loses on its way back: log10 of the norm at the last step over the norm at step 3.

    The value is infinite if the norm at step 3 is 0. Before step 3 the states of all cases are still alike, and the
    published norms have a spike.
    """
    first = flow[min(FIRST_STEPS, len(flow) - 1)]
    return math.log10(flow[-1] / first) if first > 0 else math.inf


def flow_finding(name: str, flow: Sequence[float]) -> Finding:
    """Finding: the decades that the gradient loses on the way back."""
    lost = decades_lost(flow)
    return Finding(
        f"{name}: decades lost",
        lost,
        f"log10 of ||dL/dh|| at the last step over that at step {FIRST_STEPS}; vanishing above 1, exploding below -1",
        verdict="vanishes" if lost > 1 else "explodes" if lost < -1 else "reaches back",
    )


def figure_1a_findings(name: str, gain: float, flow: Sequence[float]) -> Iterator[Finding]:
    """Findings that compare the gradient norms of the figure's network (784 steps) with points read off the figure.

    The tolerance is 1.3 decades, by which norms of different batches differ. If the published gradient loses little on
    its way back from the last step, the tolerance is half of that loss. A gradient that stays or grows then never
    agrees.
    """
    for t, published in FIGURE_1A.get(gain, {}).items():
        value = math.log10(flow[t]) if flow[t] > 0 else -math.inf
        lost = FIGURE_1A[gain][LAST] - published
        tolerance = AT_THE_END if t == LAST else min(BETWEEN_BATCHES, OF_THE_LOSS * lost)
        yield Finding(
            f"{name}: at t = {t}",
            value,
            f"log10 of ||dL/dh_t||; the same up to {tolerance:.2g}",
            claim=f"{published:g}",
            holds=abs(value - published) <= tolerance,
            source="RBN Fig. 1a, read off the figure",
        )


def figure_1b_findings(derivatives: Sequence[TanhDerivative]) -> list[Finding]:
    """Findings on section 4's claims about the mean derivative, in the order of growing standard deviation.

    The mean is close to 1 at first, then falls, and is much smaller than 1 at a standard deviation of 1.
    """
    first, *others = derivatives
    findings = [_derivative_finding(first, "close to 1", first.mean >= CLOSE_TO_1)]
    for before, after in zip(derivatives, others, strict=False):
        claim, holds = f"smaller than at {before.std:g}", after.mean < before.mean
        if after.std == 1:
            claim, holds = f"{claim}, and much smaller than 1", holds and after.mean <= MUCH_SMALLER
        findings.append(_derivative_finding(after, claim, holds))
    return findings


def _is_figure_1a(spec: AnalysisSpec) -> bool:
    """Tell if the spec has the network and the data of Fig. 1a."""
    figure = resolve(
        {"task": {"name": "gradient_flow", "profile": "paper"}, "norm": {"method": "recurrent_batch_norm"}}
    )
    task, paper = cast(GradientFlow, spec.task), cast(GradientFlow, figure.task)
    return (task.images, task.cases, spec.model, spec.norm) == (paper.images, paper.cases, figure.model, figure.norm)


def _measure_figure_1b() -> Report:
    return Report(figure_1b_findings(figure_1b(FIGURE_1B)))


def _derivative_finding(derivative: TanhDerivative, claim: str, holds: bool) -> Finding:
    return Finding(
        f"tanh_derivative std={derivative.std:g}",
        derivative.mean,
        "mean of 1 - tanh(a)^2 for normal a, by quadrature; half of all values are between"
        f" {derivative.lower_quartile:.3f} and {derivative.upper_quartile:.3f}",
        claim=claim,
        holds=holds,
        source="RBN section 4, Fig. 1b",
    )


def _states(network: Recurrent, x: Tensor) -> list[Tensor]:
    """Run the network; returns the last layer's h (B, H) at every step, the same tensors that the next step reads."""
    h: list[Tensor] = []
    for cell in cast(Iterable[Any], network.cells):
        h = [state.h for state in states(cell, x, network.initial_state(cell, x.shape[1]))]
        x = torch.stack(h)
    return h


def _lengths(vectors: Tensor) -> Tensor:
    """Euclidean norms of vectors, (B, H) -> (B,), exact also if squares are too small for the dtype."""
    greatest = vectors.abs().amax(-1).clamp(min=torch.finfo(vectors.dtype).tiny)
    lengths: Tensor = greatest * torch.linalg.vector_norm(vectors / greatest.unsqueeze(-1), dim=-1)
    return lengths


def _tanh_derivative(a: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.cosh(a) ** -2
