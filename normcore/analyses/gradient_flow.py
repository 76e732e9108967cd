"""How far gradients reach back, and what the gain has to do with it: Cooijmans et al. 2017, arXiv:1603.09025v5, Fig. 1.

Shapes: T steps, B cases, F inputs, H hidden units.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from normcore.models.readout import orthogonal_readout
from normcore.recurrent import Recurrent
from normcore.seeding import reproducible

HIDDEN_SIZE = 100
NUM_CLASSES = 10
INITIAL_STATE_NOISE = 0.1
QUADRATURE_NODES = 100  # for standard deviations up to 1, more change the mean by less than 1e-9


@dataclass(frozen=True, slots=True)
class GradientFlow:
    """How large the gradient is at every step.

    Attributes:
        gain: initial gain of the batch norm.
        gradient_norms: T numbers, the mean over the cases of ||dL/dh_t||.
    """

    gain: float
    gradient_norms: list[float]


@dataclass(frozen=True, slots=True)
class TanhDerivative:
    """Distribution of tanh'(a) = 1 - tanh(a)^2 where a is normal with mean 0.

    Attributes:
        std: standard deviation of a.
        lower_quartile: the derivative is below it with probability 1/4; above ``upper_quartile`` likewise.
    """

    std: float
    mean: float
    lower_quartile: float
    upper_quartile: float


def gradient_norms(network: Recurrent, readout: nn.Module, x: Tensor, labels: Tensor) -> Tensor:
    """The mean over the cases of ||dL/dh_t||, for every step: (T,).

    L is the mean cross-entropy over the B cases, of logits read out of the last step; h_t is the last layer's. What
    else a cell carries is held constant for its own step, and passes gradients on at all others.

    Args:
        network: in one direction; its norms take their statistics as its mode, training or evaluation, says.
        x: (T, B, F).
        labels: (B,) int64.

    Raises:
        ValueError: the network reads in both directions.
    """
    if network.directions == 2:
        raise ValueError(
            "expected a network in one direction, received a bidirectional one; no state of it is the last"
        )
    h = _states(network, x)
    loss = functional.cross_entropy(readout(h[-1]), labels)
    return torch.stack([_lengths(gradient).mean() for gradient in torch.autograd.grad(loss, h)])


def figure_1a(x: Tensor, labels: Tensor, gains: Iterable[float], seed: int) -> list[GradientFlow]:
    """Gradient norms in an untrained tanh network of 100 units, whose summed inputs are batch-normalized (Fig. 1a).

    W_h is the identity, W_x and the readout are orthogonal, biases are 0, and the first state is noise of standard
    deviation 0.1. All gains see the same weights and the same noise. Computed in float64: at a gain of 1, norms fall
    below what float32 can hold.

    Deviations: which images the authors took, in which order their pixels, and whether with noise, is not known;
    their code for this figure was never released. In-order pixels with noise are what their section 5.1 trains on.
    On MNIST the published numbers are then within what batches and seeds make of it at gains up to 0.4, and at 1 near
    the end; at 0.5 and 0.6 the published gradients vanish faster. Permuted pixels without noise come closer. The test
    has the numbers.

    Args:
        x: (T, B, 1), the pixels of one batch; the paper's has 100 images.
        labels: (B,) int64.
    """
    flows = []
    for gain in gains:
        with reproducible(seed, x.device, torch.get_num_threads()):
            network = _network(x.shape[2], gain).to(x.device, torch.float64)
            readout = orthogonal_readout(HIDDEN_SIZE, NUM_CLASSES).to(x.device, torch.float64)
            flows.append(GradientFlow(gain, gradient_norms(network, readout, x.double(), labels).tolist()))
    return flows


def figure_1b(stds: Iterable[float]) -> list[TanhDerivative]:
    """Mean and quartiles of tanh's derivative at normal summed inputs, computed without sampling (Fig. 1b).

    The mean is a Gauss-Hermite quadrature. The derivative falls with |a|, so that its quartiles are its values at
    those of |a|.
    """
    z, weights = hermegauss(QUADRATURE_NODES)
    far, near = (NormalDist().inv_cdf(p) for p in (7 / 8, 5 / 8))  # |z| is below them with probability 3/4 and 1/4
    derivatives = []
    for std in stds:
        mean = weights @ _tanh_derivative(std * z) / weights.sum()
        lower, upper = _tanh_derivative(std * np.array([far, near]))
        derivatives.append(TanhDerivative(std, float(mean), float(lower), float(upper)))
    return derivatives


def sampled_figure_1b(stds: Iterable[float], num_samples: int, seed: int) -> list[TanhDerivative]:
    """The same as the paper has it, from samples; all standard deviations scale the same ones."""
    z = np.random.RandomState(seed).standard_normal(num_samples)
    return [_sampled(std, _tanh_derivative(std * z)) for std in stds]


def _network(input_size: int, gain: float) -> Recurrent:
    norm = {"method": "recurrent_batch_norm", "gain_init": gain, "initial_state_noise": INITIAL_STATE_NOISE}
    return Recurrent("rnn", input_size, HIDDEN_SIZE, norm=norm, recurrent_init="identity")


def _states(network: Recurrent, x: Tensor) -> list[Tensor]:
    """The last layer's h at every step, each (B, H): the very tensors from which the next step goes on."""
    states: list[Tensor] = []
    for cell in network.cells:
        states = _unroll(cell, x, network.initial_state_noise)
        x = torch.stack(states)
    return states


def _unroll(cell: Any, x: Tensor, initial_state_noise: float) -> list[Tensor]:
    state = cell.initial_state(x.shape[1])
    state = state._replace(h=state.h + initial_state_noise * torch.randn_like(state.h))
    states = []
    for t, term in enumerate(cell.input_term(x, 0).unbind(0)):
        state = cell.step(term, state, t)
        states.append(state.h)
    return states


def _lengths(vectors: Tensor) -> Tensor:
    """Euclidean norms (B, H) -> (B,), of vectors too small to be squared as well."""
    greatest = vectors.abs().amax(-1).clamp(min=torch.finfo(vectors.dtype).tiny)
    lengths: Tensor = greatest * torch.linalg.vector_norm(vectors / greatest.unsqueeze(-1), dim=-1)
    return lengths


def _tanh_derivative(a: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.cosh(a) ** -2


def _sampled(std: float, derivatives: NDArray[np.float64]) -> TanhDerivative:
    lower, upper = np.quantile(derivatives, [0.25, 0.75])
    return TanhDerivative(std, float(derivatives.mean()), float(lower), float(upper))
