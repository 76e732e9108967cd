"""Updates are those of the code that trained the papers' models."""

import math

import pytest
import torch

from normcore.spec.optimizers import Optimizer
from normcore.spec.optimizers.adam import Adam
from normcore.spec.optimizers.rmsprop import RMSProp
from normcore.spec.optimizers.toronto_adam import TorontoAdam
from normcore.training import optimizers

GRADIENTS = torch.tensor([[3.0, -2e-3, 50.0], [0.5, -1e-4, -7.0], [-4.0, 1e-2, 0.1]], dtype=torch.float64)


def path(options: Optimizer, gradients: torch.Tensor) -> torch.Tensor:
    """Where the parameters (3,) stand after each gradient, starting at zero."""
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    optimizer = optimizers.build(options, [parameter])
    places = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
        places.append(parameter.detach().clone())
    return torch.stack(places)


@pytest.mark.parametrize(("t", "factor"), [(1, 3.51), (10, 6.53), (100, 3.24), (1000, 1.26)])
def test_toronto_adam_takes_larger_steps_for_a_thousand_updates(t: int, factor: float) -> None:
    """Under a gradient that never changes, where corrected Adam moves by lr at every step."""
    places = path(TorontoAdam(lr=0.01), GRADIENTS[:1].expand(t, 3))
    before = places[-2] if t > 1 else torch.zeros(3, dtype=torch.float64)
    moved = (places[-1] - before) / (-0.01 * GRADIENTS[0].sign())
    torch.testing.assert_close(moved, torch.full((3,), factor, dtype=torch.float64), rtol=0.005, atol=0)


def test_toronto_adam_follows_the_code_it_is_from() -> None:
    """Their b1 and b2 are the weights of the new gradient."""
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


@pytest.mark.parametrize("options", [Adam(lr=0.01), TorontoAdam(lr=0.01), RMSProp(lr=0.01, momentum=0.9)])
def test_an_optimizer_goes_on_from_what_was_saved(options: Optimizer) -> None:
    whole = path(options, GRADIENTS)
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    optimizer = optimizers.build(options, [parameter])
    for gradient in GRADIENTS:
        parameter.grad = gradient.clone()
        optimizer.step()
        saved = optimizer.state_dict()
        optimizer = optimizers.build(options, [parameter])
        optimizer.load_state_dict(saved)
    assert torch.equal(parameter, whole[-1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_adam_is_torchs_to_the_last_bit(dtype: torch.dtype) -> None:
    ours, theirs = (torch.nn.Parameter(torch.linspace(-1, 1, 3, dtype=dtype)) for _ in range(2))
    optimizer = optimizers.build(Adam(lr=0.01, beta1=0.8, beta2=0.99, eps=1e-3), [ours])
    torchs = torch.optim.Adam([theirs], 0.01, (0.8, 0.99), 1e-3, foreach=True)
    for gradient in GRADIENTS.repeat(20, 1).to(dtype):
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        optimizer.step()
        torchs.step()
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_rmsprop_follows_its_equations(momentum: float) -> None:
    v = m = p = [0.0] * 3
    places = []
    for gradient in GRADIENTS.tolist():
        v = [0.9 * a + (1 - 0.9) * g * g for a, g in zip(v, gradient, strict=True)]
        u = [g / max(math.sqrt(a), 1e-5) for a, g in zip(v, gradient, strict=True)]
        m = [momentum * b + s for b, s in zip(m, u, strict=True)]
        p = [q - 0.01 * b for q, b in zip(p, m, strict=True)]
        places.append(p)
    moved = path(RMSProp(lr=0.01, momentum=momentum), GRADIENTS)
    torch.testing.assert_close(moved, torch.tensor(places, dtype=torch.float64), rtol=1e-12, atol=0)


def test_a_tiny_gradient_is_divided_by_the_bound_and_not_by_its_root() -> None:
    moved = path(RMSProp(lr=1.0), torch.full((1, 3), 1e-7, dtype=torch.float64))[0]
    torch.testing.assert_close(moved, torch.full_like(moved, -1e-2), rtol=1e-12, atol=0)


def test_a_parameter_without_a_gradient_stays() -> None:
    still, moving = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = optimizers.build(RMSProp(), [still, moving])
    moving.grad = torch.ones(2)
    optimizer.step()
    assert still.tolist() == [1, 1]
    assert moving.tolist() != [1, 1]
