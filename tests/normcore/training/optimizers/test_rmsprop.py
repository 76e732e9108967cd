"""Updates equal those of the code that trained the pixel tasks of RBN."""

import math

import pytest
import torch

from normcore.spec.optimizers.rmsprop import RMSProp
from tests.normcore.training.optimizers.paths import GRADIENTS, path


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.5), (0.9, 0.9)])
def test_rmsprop_follows_its_equations(momentum: float, decay: float) -> None:
    v = m = p = [0.0] * 3
    places = []
    for gradient in GRADIENTS.tolist():
        v = [decay * a + (1 - decay) * g * g for a, g in zip(v, gradient, strict=True)]
        u = [g / max(math.sqrt(a), 1e-5) for a, g in zip(v, gradient, strict=True)]
        m = [momentum * b + s for b, s in zip(m, u, strict=True)]
        p = [q - 0.01 * b for q, b in zip(p, m, strict=True)]
        places.append(p)
    moved = path(RMSProp(lr=0.01, momentum=momentum, decay=decay), GRADIENTS)
    torch.testing.assert_close(moved, torch.tensor(places, dtype=torch.float64), rtol=1e-12, atol=0)


def test_tiny_gradient_is_divided_by_the_lower_bound() -> None:
    moved = path(RMSProp(lr=1.0), torch.full((1, 3), 1e-7, dtype=torch.float64))[0]
    torch.testing.assert_close(moved, torch.full_like(moved, -1e-2), rtol=1e-12, atol=0)
