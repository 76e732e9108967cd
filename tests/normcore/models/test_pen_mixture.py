"""The mixture density is that of Graves 2013, Eq. 18-26."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from torch import Tensor

from normcore.models.pen_mixture import PenMixture

COMPONENTS = 3


def numbers(*axes: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*axes, 6 * COMPONENTS + 1, generator=generator, dtype=torch.float64)


def points(*axes: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    moves = torch.randn(*axes, 2, generator=generator, dtype=torch.float64)
    ends = (torch.rand(*axes, 1, generator=generator) < 0.5).double()
    return torch.cat([moves, ends], -1)


def test_cost_equals_that_from_normal_densities_of_scipy() -> None:
    told, seen = numbers(5), points(5)
    found = PenMixture.of(told).cost(seen)
    for row, point, cost in zip(told.numpy(), seen.numpy(), found.tolist(), strict=True):
        lift, rest = row[0], row[1:]
        weights, means, deviations, correlations = np.split(rest, [3, 9, 15])
        weights = np.exp(weights) / np.exp(weights).sum()
        density = 0.0
        for k in range(COMPONENTS):
            s_1, s_2 = np.exp(deviations[2 * k : 2 * k + 2])
            off = np.tanh(correlations[k]) * s_1 * s_2
            normal = multivariate_normal(means[2 * k : 2 * k + 2], [[s_1**2, off], [off, s_2**2]])
            density += weights[k] * normal.pdf(point[:2])
        end = 1 / (1 + np.exp(lift))
        assert cost == pytest.approx(-np.log(density) - np.log(end if point[2] else 1 - end), rel=1e-9)


def test_gradient_of_the_cost_agrees_with_finite_differences() -> None:
    seen = points(4)
    assert torch.autograd.gradcheck(lambda told: PenMixture.of(told).cost(seen), numbers(4).requires_grad_())


@pytest.mark.parametrize("place", ["weight", "mean", "deviation", "correlation", "pen"])
@pytest.mark.parametrize("size", [-40.0, 40.0])
def test_extreme_numbers_have_a_finite_cost_and_gradient(place: str, size: float) -> None:
    told = torch.zeros(1, 6 * COMPONENTS + 1)
    told[0, {"pen": 0, "weight": 1, "mean": 4, "deviation": 10, "correlation": 16}[place]] = size
    told.requires_grad_()
    cost = PenMixture.of(told).cost(torch.tensor([[1.0, -1.0, 1.0]]))
    cost.sum().backward()  # type: ignore[no-untyped-call]
    assert cost.isfinite().all()
    assert told.grad is not None
    assert told.grad.isfinite().all()


def test_drawn_points_have_the_moments_of_the_mixture() -> None:
    """Means, covariance and lifted pens of 40,000 points agree to five standard errors."""
    count = 40_000
    mixture = PenMixture.of(numbers(1).expand(count, -1))
    drawn = mixture.draw_points(torch.Generator().manual_seed(0))
    weights = mixture.log_weights[0].exp()
    mean = (weights.unsqueeze(1) * mixture.mean[0]).sum(0)
    deviation, rho = mixture.log_deviation[0].exp(), mixture.atanh_correlation[0].tanh()
    covariance = torch.zeros(2, 2, dtype=torch.float64)
    for k in range(COMPONENTS):
        off = rho[k] * deviation[k].prod()
        own = torch.stack([torch.stack([deviation[k, 0] ** 2, off]), torch.stack([off, deviation[k, 1] ** 2])])
        away = mixture.mean[0, k] - mean
        covariance += weights[k] * (own + torch.outer(away, away))
    lifted = torch.sigmoid(-mixture.lift[0])
    error = covariance.diagonal().sqrt() / count**0.5
    assert ((drawn[:, :2].mean(0) - mean).abs() < 5 * error).all()
    products = (drawn[:, 0] - mean[0]) * (drawn[:, 1] - mean[1])
    assert abs(products.mean() - covariance[0, 1]) < 5 * products.std() / count**0.5
    assert abs(drawn[:, 2].mean() - lifted) < 5 * (lifted * (1 - lifted) / count) ** 0.5


def test_bias_moves_drawn_points_closer_to_the_likeliest_mean() -> None:
    told = numbers(1)
    plain, neat = PenMixture.of(told), PenMixture.of(told, bias=1.5)
    torch.testing.assert_close(neat.log_deviation, plain.log_deviation - 1.5)
    torch.testing.assert_close(neat.log_weights, (2.5 * told[:, 1:4]).log_softmax(-1))


def cost_and_gradient(told: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    told = told.clone().requires_grad_()
    cost = PenMixture.of(told).cost(seen)
    cost.sum().backward()  # type: ignore[no-untyped-call]
    assert told.grad is not None
    return cost.detach().double(), told.grad.double()


@pytest.mark.parametrize(
    "extreme",
    [
        {10: -90.0},
        {10: -90.0, 11: 90.0},
        {16: 100.0},
        {16: -100.0},
        {10: -45.0, 16: 45.0},
        {4: 1e25},
        {4: 1e15, 16: 30.0},
    ],
    ids=str,
)
def test_cost_of_extreme_numbers_in_float32_equals_float64(extreme: dict[int, float]) -> None:
    """The other components explain the point. The gradient of the extreme component is 0, not NaN."""
    told = numbers(1).float()
    for place, value in extreme.items():
        told[0, place] = value
    seen = points(1).float()
    cost, gradient = cost_and_gradient(told, seen)
    exact, exact_gradient = cost_and_gradient(told.double(), seen.double())
    torch.testing.assert_close(cost, exact, rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient, exact_gradient, rtol=1e-5, atol=1e-6)
    assert exact.isfinite().all()
    assert exact_gradient.isfinite().all()


@pytest.mark.parametrize(
    ("mean", "away"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.7)], ids=["at_the_mean_0", "at_the_mean_1", "off_the_mean"]
)
@pytest.mark.parametrize("deviation", [-90.0, -60.0, -39.0, 0.0, 39.0, 60.0, 90.0])
@pytest.mark.parametrize("correlation", [0.0, 7.9, -20.0, 45.0, 88.0, -89.0, 90.0, 100.0, -1000.0])
def test_cost_of_one_component_in_float32_equals_float64(
    correlation: float, deviation: float, mean: float, away: float
) -> None:
    """A value that does not fit into float32 is infinite there. The gradient of -1000 is 0, because it is bounded."""
    told = torch.zeros(1, 7)
    told[0, 2:4] = torch.tensor([mean, -2 * mean])
    told[0, 4:6] = deviation
    told[0, 6] = correlation
    seen = torch.tensor([[mean + away, -2 * mean - away / 2, 1.0]])
    exact, exact_gradient = cost_and_gradient(told.double(), seen.double())
    cost, gradient = cost_and_gradient(told, seen)
    subnormal = torch.finfo(torch.float32).tiny
    torch.testing.assert_close(cost, exact.float().double(), rtol=1e-5, atol=0)
    torch.testing.assert_close(gradient, exact_gradient.float().double(), rtol=2e-5, atol=subnormal)


@pytest.mark.parametrize("place", [10, 16])
def test_numbers_too_extreme_for_float64_are_bounded(place: int) -> None:
    told = numbers(1)
    told[0, place] = {10: -1000.0, 16: 1000.0}[place]
    without = told.clone()
    without[0, place] = {10: -100.0, 16: 100.0}[place]
    (cost, gradient), (expected, _) = (cost_and_gradient(t, points(1)) for t in (told, without))
    torch.testing.assert_close(cost, expected, rtol=1e-12, atol=0)
    assert gradient.isfinite().all()
