"""Terms of a variational bound equal quadratures and hand computations."""

import math

import numpy as np
import pytest
import torch

from normcore.losses import bernoulli_cross_entropy, kl_to_standard_normal


def test_the_divergence_is_the_integral() -> None:
    """The loss is summed over two latent numbers. The trapezoid rule is exact if densities vanish at both ends."""
    mean, std = [0.7, -0.3], [0.5, 1.8]
    grid = np.linspace(-40, 40, 400_001)
    total = 0.0
    for m, s in zip(mean, std, strict=True):
        log_q = -((grid - m) ** 2) / (2 * s**2) - math.log(s)
        total += float(np.trapezoid(np.exp(log_q) * (log_q + grid**2 / 2), grid)) / math.sqrt(2 * math.pi)
    measured = kl_to_standard_normal(torch.tensor([mean]).double(), torch.tensor([std]).double().log())
    assert measured.item() == pytest.approx(total, rel=1e-6)


def test_divergence_is_right_for_a_deviation_too_small_for_a_float() -> None:
    log_std = torch.tensor([[-120.0]], requires_grad=True)
    divergence = kl_to_standard_normal(torch.zeros(1, 1), log_std)
    assert divergence.item() == pytest.approx(119.5)
    assert torch.autograd.grad(divergence.sum(), log_std)[0].item() == pytest.approx(-1)


def test_cost_of_a_pixel_is_minus_the_log_of_its_probability() -> None:
    logits, x = torch.tensor([[2.0, -1.0, 30.0]]).double(), torch.tensor([[1.0, 1.0, 0.0]]).double()
    p = 1 / (1 + np.exp(-logits.numpy()))
    expected = -np.log(np.where(x.numpy() > 0, p, 1 - p)).sum()
    assert bernoulli_cross_entropy(logits, x).item() == pytest.approx(expected, rel=1e-4)
