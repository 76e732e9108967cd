"""Gradient norms by time step agree with finite differences, products of Jacobians and the paper's figure."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate
from torch import Tensor, nn
from torch.nn import functional

from normcore.analyses.gradient_flow import (
    TanhDerivative,
    decades_lost,
    figure_1a_findings,
    figure_1b,
    figure_1b_findings,
    flow_finding,
    gradient_flow,
    gradient_norms,
)
from normcore.data import digits, mnist
from normcore.data.images import LabelledImages
from normcore.models.readout import orthogonal_readout
from normcore.recurrent import Recurrent
from normcore.spec import resolve
from normcore.spec.cells.rnn import RNN
from normcore.spec.methods.method import Method
from tests.normcore.networks import recurrent

UNIFORM = math.log10(math.sqrt(0.9) / 100)  # norm of (softmax - one-hot) / B for ten equally likely classes: -2.02
NOISY = {"method": "recurrent_batch_norm", "gain_init": 0.7, "initial_state_noise": 0.1}


def network_and_readout(**options: Any) -> tuple[Recurrent, nn.Linear]:
    torch.manual_seed(0)
    network = recurrent(input_size=2, hidden_size=4, **options).double()
    return network, orthogonal_readout(4, 3).double()


def norms_by_finite_differences(network: Recurrent, readout: nn.Linear, x: Tensor, labels: Tensor, t: int) -> float:
    """Mean gradient norm at step t: each entry of h_t is changed alone, and the network continues from there."""
    torch.manual_seed(1)
    _, state = network(x[: t + 1])
    *lower, top = state.cells

    def loss(h: Tensor) -> float:
        if t < len(x) - 1:
            moved = state._replace(cells=(*lower, top._replace(h=h)))
            h = network(x[t + 1 :], state=moved)[0][-1]
        return functional.cross_entropy(readout(h), labels).item()

    gradient = torch.zeros_like(top.h)
    for entry in np.ndindex(*gradient.shape):
        step = torch.zeros_like(gradient)
        step[entry] = 1e-6
        gradient[entry] = (loss(top.h + step) - loss(top.h - step)) / 2e-6
    return float(gradient.norm(dim=1).mean())


@pytest.mark.parametrize(
    "options",
    [
        {"cell": "rnn", "norm": NOISY},
        {"cell": "rnn", "norm": {"method": "layer_norm"}},
        {"cell": "lstm", "norm": {"method": "none"}},
        {"cell": "lstm", "norm": NOISY, "num_layers": 2},
        {"cell": "gru", "norm": {"method": "layer_norm"}},
    ],
)
def test_gradient_norms_are_of_the_state_of_the_last_layer(options: dict[str, Any]) -> None:
    network, readout = network_and_readout(**options)
    x, labels = torch.randn(4, 3, 2, dtype=torch.float64), torch.tensor([0, 2, 1])
    torch.manual_seed(1)
    with torch.no_grad():
        expected = [norms_by_finite_differences(network, readout, x, labels, t) for t in range(4)]
    torch.manual_seed(1)
    assert gradient_norms(network, readout, x, labels).tolist() == pytest.approx(expected, rel=1e-5)


def test_gradient_of_a_plain_network_is_a_product_of_jacobians() -> None:
    """dL/dh_{t-1} = W_h' (1 - h_t^2) dL/dh_t, and dL/dh_T = W_y' (softmax - one-hot) / B."""
    network, readout = network_and_readout(cell="rnn")
    x, labels = torch.randn(6, 5, 2, dtype=torch.float64), np.array([0, 2, 1, 1, 0])
    with torch.no_grad():
        y = network(x)[0].numpy()
    w_h = network.get_parameter("cells.0.weight_hh").detach().numpy()
    w_y = readout.weight.detach().numpy()
    exponentials = np.exp(y[-1] @ w_y.T)
    residual = exponentials / exponentials.sum(1, keepdims=True) - np.eye(3)[labels]
    gradient = residual @ w_y / 5
    expected: list[float] = []
    for h in reversed(y):
        expected.insert(0, np.linalg.norm(gradient, axis=1).mean())
        gradient = (gradient * (1 - h**2)) @ w_h
    measured = gradient_norms(network, readout, x, torch.from_numpy(labels))
    np.testing.assert_allclose(measured.numpy(), expected, rtol=1e-12)


def test_gradient_whose_square_underflows_is_measured() -> None:
    """W_h is I / 1000 and all states are 0, so the gradient shrinks by 1000 at each of a hundred steps."""
    network, readout = network_and_readout(cell="rnn")
    with torch.no_grad():
        network.get_parameter("cells.0.weight_hh").copy_(torch.eye(4, dtype=torch.float64) / 1000)
    norms = gradient_norms(network, readout, torch.zeros(100, 3, 2, dtype=torch.float64), torch.tensor([0, 1, 2]))
    steps_back = torch.arange(99, -1, -1)
    torch.testing.assert_close(norms.log10(), norms[-1].log10() - 3 * steps_back, rtol=1e-12, atol=0)


def test_bidirectional_network_is_refused() -> None:
    network, readout = network_and_readout(cell="rnn", bidirectional=True)
    with pytest.raises(ValueError, match="expected a network in one direction"):
        gradient_norms(network, readout, torch.zeros(2, 3, 2), torch.tensor([0, 1, 2]))


def figure_1a(x: Tensor, labels: Tensor, gain: float, seed: int) -> list[float]:
    """Compute gradient norms of the network of the figure: the profile ``paper`` of the task with another gain."""
    figure = resolve(
        {
            "task": {"name": "gradient_flow", "profile": "paper"},
            "norm": {"method": "recurrent_batch_norm", "gain_init": gain},
        }
    )
    assert isinstance(figure.model, RNN)
    assert isinstance(figure.norm, Method)
    return gradient_flow(figure.model, figure.norm, x, labels, seed)


def norms_by_gain(images: LabelledImages, gains: Sequence[float], seed: int) -> np.ndarray:
    """Compute log10 of the gradient norms (gains, T)."""
    x = images.sequences(torch.float32)
    return np.log10([figure_1a(x, images.labels, gain, seed) for gain in gains])


@pytest.fixture(scope="module")
def on_digits() -> dict[float, np.ndarray]:
    """Gradient norms, as log10, on 100 digits of 64 pixels, by gain."""
    gains = (0.1, 0.5, 1.0)
    return dict(zip(gains, norms_by_gain(digits.load().train[:100], gains, seed=0), strict=True))


def test_gradient_at_the_last_step_depends_only_on_the_readout(on_digits: dict[float, np.ndarray]) -> None:
    """Small states make all classes nearly equally likely. An orthonormal readout then gives log10(0.9487 / 100)."""
    assert on_digits[0.1][-1] == pytest.approx(UNIFORM, abs=0.005)
    assert [norms[-1] for norms in on_digits.values()] == pytest.approx([UNIFORM] * 3, abs=0.03)


def test_gradients_reach_back_with_small_gains_and_vanish_with_large_gains(
    on_digits: dict[float, np.ndarray],
) -> None:
    """The claim of the figure holds on the 64 pixels of a digit: a few tenths of a decade against at least five."""
    losses = {gain: norms[-1] - norms.min() for gain, norms in on_digits.items()}
    assert losses[0.1] < 0.4 < losses[0.5] < 1
    assert losses[1.0] > 5


def test_the_seed_decides_and_the_generator_is_left_alone() -> None:
    x, labels = torch.rand(5, 8, 1), torch.arange(8)
    before = torch.get_rng_state()
    first, again, other = (figure_1a(x, labels, 0.3, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), before)


def test_gradient_norms_on_mnist_equal_the_figure_only_for_small_gains(datasets_dir: Path) -> None:
    """Norms (log10) read from the paper's figure are compared with batches 1 to 4, measured with seeds 0 to 3.

    At t = 783 every gain is at log10(0.9487 / 100), up to 0.03. At t = 100, which is 683 steps back, the published
    numbers are among ours up to a gain of 0.4; our batches are up to 1.3 decades apart. At 0.6 the published gradient
    has vanished further than in any batch, by more than 3 decades.

    Measured once, on 24 batches with a seed each, at t = 100 (at t = 700 for the gain 1.0):

        ====  =========  ======  ================  =================  =================================
        gain  published  median  least, greatest   permuted, median   permuted without noise, median
        ====  =========  ======  ================  =================  =================================
        0.1       -3.10   -2.91  -3.18,  -2.59                 -2.84                              -2.92
        0.2       -2.97   -2.72  -3.29,  -1.51                 -2.60                              -2.39
        0.3       -2.76   -3.08  -3.83,  -0.83                 -2.58                              -2.94
        0.4       -4.14   -4.04  -4.95,  -2.92                 -3.70                              -3.98
        0.5       -9.69   -5.61  -8.04,  -3.31                 -6.27                              -6.99
        0.6      -17.9    -9.98  -14.39, -6.63                -13.52                             -15.06
        1.0      -18.2   -18.88  -19.98, -16.86               -17.56                             -14.48
        ====  =========  ======  ================  =================  =================================
    """
    images = mnist.load(datasets_dir).train
    published = {0.1: -3.10, 0.3: -2.76, 0.4: -4.14, 0.6: -17.9}
    measured = np.array([norms_by_gain(images[100 * n : 100 * (n + 1)], (*published, 1.0), seed=n) for n in range(4)])
    np.testing.assert_allclose(measured[:, :, 783], UNIFORM, rtol=0, atol=0.03)
    by_gain = dict(zip(published, measured[:, :4, 100].T, strict=True))
    for gain in (0.1, 0.3, 0.4):
        assert by_gain[gain].min() < published[gain] < by_gain[gain].max()
    assert by_gain[0.6].min() > published[0.6] + 3
    assert measured[:, 4, 700].min() < -18.2 < measured[:, 4, 700].max()


STDS = (0.1, 0.3, 0.5, 1.0)


def test_mean_derivative_equals_the_paper() -> None:
    assert [point.mean for point in figure_1b(STDS)] == pytest.approx([0.990, 0.923, 0.827, 0.606], abs=6e-4)


@pytest.mark.parametrize("std", STDS)
def test_the_quadrature_is_the_integral(std: float) -> None:
    def integrand(z: float) -> float:
        return (1 - math.tanh(std * z) ** 2) * math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)

    [point] = figure_1b([std])
    assert point.mean == pytest.approx(integrate.quad(integrand, -12, 12, epsabs=1e-13)[0], abs=1e-9)


@pytest.mark.parametrize("std", STDS)
def test_samples_are_distributed_as_computed(std: float) -> None:
    """The tolerance 0.004 is four standard errors of a hundred thousand samples."""
    derivatives = np.cosh(std * np.random.RandomState(0).standard_normal(100_000)) ** -2
    [computed] = figure_1b([std])
    assert derivatives.mean() == pytest.approx(computed.mean, abs=0.004)
    quartiles = np.quantile(derivatives, [0.25, 0.75])
    assert quartiles == pytest.approx([computed.lower_quartile, computed.upper_quartile], abs=0.006)


def test_the_derivative_shrinks_and_spreads_as_its_input_grows() -> None:
    points = figure_1b([0.0, *STDS])
    assert (points[0].mean, points[0].lower_quartile, points[0].upper_quartile) == pytest.approx((1, 1, 1), abs=1e-12)
    means = [point.mean for point in points]
    spreads = [point.upper_quartile - point.lower_quartile for point in points]
    assert means == sorted(means, reverse=True)
    assert spreads == sorted(spreads)


def test_decades_are_lost_between_the_last_step_and_step_3() -> None:
    """States before step 3 are nearly equal, so their norms say nothing."""
    assert decades_lost([1e9, 1e9, 1e9, 1e-5, 1e-4, 1e-3, 1e-2]) == pytest.approx(3)
    assert decades_lost([1e9, 1e9, 1e-1, 1e-2]) == 0
    assert decades_lost([1e-5, 1e-2]) == 0
    assert decades_lost([0.0, 0.0, 0.0, 0.0, 1e-2]) == math.inf


@pytest.mark.parametrize(("first", "verdict"), [(1e-4, "vanishes"), (5e-3, "reaches back"), (1.0, "explodes")])
def test_a_flow_vanishes_or_explodes_by_more_than_a_decade(first: float, verdict: str) -> None:
    assert flow_finding("x", [9.0, 9.0, 9.0, first, 1e-2]).verdict == verdict


def flow_through(published: dict[int, float]) -> list[float]:
    """Make 784 gradient norms with the given log10 at some steps."""
    return [10 ** published.get(t, -1.0) for t in range(784)]


@pytest.mark.parametrize(
    ("gain", "at", "published", "tolerance"),
    [(0.1, 100, -3.10, 0.54), (0.2, 100, -2.97, 0.475), (0.4, 100, -4.14, 1.06), (0.6, 100, -17.9, 1.3)],
)
@pytest.mark.parametrize(("off", "holds"), [(0.0, True), (0.99, True), (-0.99, True), (1.01, False), (-1.01, False)])
def test_a_point_of_fig_1a_agrees_within_its_tolerance(
    gain: float, at: int, published: float, tolerance: float, off: float, holds: bool
) -> None:
    flow = flow_through({at: published + off * tolerance, 783: -2.02})
    point, end = figure_1a_findings("x", gain, flow)
    assert (point.claim, point.holds) == (f"{published:g}", holds)
    assert end.holds


@pytest.mark.parametrize("gain", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0])
@pytest.mark.parametrize("at_the_start", [-2.02, -1.0, 3.0])
def test_gradient_that_stays_or_grows_contradicts_the_figure(gain: float, at_the_start: float) -> None:
    level = [10.0**at_the_start] * 783 + [10**-2.02]
    point, end = figure_1a_findings("x", gain, level)
    assert (point.holds, end.holds) == (False, True)


@pytest.mark.parametrize(("end", "holds"), [(-2.02, True), (-2.0, True), (-1.98, False), (-2.06, False)])
def test_the_end_of_fig_1a_is_exact(end: float, holds: bool) -> None:
    *_, last = figure_1a_findings("x", 0.1, flow_through({100: -3.1, 783: end}))
    assert last.holds is holds


def test_gradient_of_zero_contradicts_the_figure() -> None:
    point, _ = figure_1a_findings("x", 0.1, [0.0] * 783 + [10**-2.02])
    assert not point.holds


@pytest.mark.parametrize(
    ("means", "holds"),
    [
        ((0.99, 0.92, 0.83, 0.61), [True, True, True, True]),
        ((0.90, 0.89, 0.83, 0.61), [False, True, True, True]),  # not close to 1
        ((0.99, 0.99, 0.83, 0.61), [True, False, True, True]),  # a step without a fall
        ((0.99, 0.92, 0.93, 0.61), [True, True, False, True]),
        ((0.99, 0.92, 0.83, 0.80), [True, True, True, False]),  # not much smaller than 1
        ((0.96, 0.71, 0.70, 0.72), [True, True, True, False]),  # much smaller, but growing
    ],
)
def test_fig_1b_claims_that_the_mean_derivative_falls_from_1(means: tuple[float, ...], holds: list[bool]) -> None:
    points = [TanhDerivative(std, mean, 0.0, 1.0) for std, mean in zip(STDS, means, strict=True)]
    assert [finding.holds for finding in figure_1b_findings(points)] == holds
