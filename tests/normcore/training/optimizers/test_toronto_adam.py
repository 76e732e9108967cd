"""Updates equal those of the code that trained the models of LN."""

import math

import pytest
import torch

from normcore.spec.optimizers.toronto_adam import TorontoAdam
from tests.normcore.training.optimizers.paths import GRADIENTS, path


@pytest.mark.parametrize(("t", "factor"), [(1, 3.51), (10, 6.53), (100, 3.24), (1000, 1.26)])
def test_toronto_adam_takes_larger_steps_for_a_thousand_updates(t: int, factor: float) -> None:
    """The gradient is constant here, and bias-corrected Adam would move by lr at every step."""
    places = path(TorontoAdam(lr=0.01), GRADIENTS[:1].expand(t, 3))
    before = places[-2] if t > 1 else torch.zeros(3, dtype=torch.float64)
    moved = (places[-1] - before) / (-0.01 * GRADIENTS[0].sign())
    torch.testing.assert_close(moved, torch.full((3,), factor, dtype=torch.float64), rtol=0.005, atol=0)


def test_toronto_adam_follows_the_code_of_the_authors() -> None:
    """Parameters b1 and b2 of that code are the weights of the new gradient."""
    b1, b2 = 0.1, 0.001
    m = v = p = [0.0] * 3
    places = []
    for t, gradient in enumerate(GRADIENTS.tolist(), 1):
        lr_t = 0.01 * (math.sqrt(1 - b2**t) / (1 - b1**t))
        m = [b1 * g + (1 - b1) * a for a, g in zip(m, gradient, strict=True)]
        v = [b2 * g * g + (1 - b2) * a for a, g in zip(v, gradient, strict=True)]
        p = [q - lr_t * a / (math.sqrt(b) + 1e-8) for q, a, b in zip(p, m, v, strict=True)]
        places.append(p)
    torch.testing.assert_close(path(TorontoAdam(lr=0.01), GRADIENTS), torch.tensor(places).double(), rtol=1e-6, atol=0)
