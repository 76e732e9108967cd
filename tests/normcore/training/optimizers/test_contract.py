"""Contract of optimizers. New optimizers are tested without a change here."""

import pytest
import torch

from normcore.spec.optimizers import OPTIMIZERS, Optimizer
from normcore.spec.optimizers.adam import Adam
from normcore.spec.optimizers.rmsprop import RMSProp
from normcore.spec.optimizers.toronto_adam import TorontoAdam
from normcore.training import optimizers
from normcore.training.optimizers.eager import Eager
from tests.normcore.training.optimizers.paths import GRADIENTS, path

EVERY = [kind.model_validate({"name": tag, "lr": 0.01}) for tag, kind in OPTIMIZERS.items()]


@pytest.mark.parametrize("options", [*EVERY, RMSProp(lr=0.01, momentum=0.9)], ids=str)
def test_optimizer_continues_from_its_saved_state(options: Optimizer) -> None:
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


HUGE = torch.tensor([[3e25, -1e30, 1.0], [-5e25, 1.0, 2e38], [1e10, 2.0, -1e38], [1e20, 1.0, 1e19], [4.0, 5.0, -6.0]])
SHORT_MEMORY = [RMSProp(lr=0.01, momentum=0.9, decay=0.1), Adam(lr=0.01, beta2=0.2), RMSProp(lr=0.01, decay=0.0)]
NO_FLOOR = [Adam(lr=0.01, eps=1e-35), TorontoAdam(lr=0.01, eps=1e-35)]


@pytest.mark.parametrize("options", [*EVERY, *SHORT_MEMORY], ids=str)
def test_gradients_whose_squares_overflow_move_parameters_as_in_float64(options: Optimizer) -> None:
    gradients = torch.cat([HUGE, *[GRADIENTS.float()] * 60])
    moved = path(options, gradients, torch.float32)
    torch.testing.assert_close(moved.double(), path(options, gradients.double()), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", NO_FLOOR, ids=str)
def test_gradients_whose_squares_underflow_move_parameters_as_in_float64(options: Optimizer) -> None:
    gradients = torch.cat([1e-25 * GRADIENTS, GRADIENTS]).float()
    moved = path(options, gradients, torch.float32)
    torch.testing.assert_close(moved.double(), path(options, gradients.double()), rtol=1e-4, atol=1e-6)


def test_clipped_gradients_are_not_searched_for_their_largest_value() -> None:
    """The search would cost a pass over all gradients. Without it the square overflows and the parameter stays."""
    [kind, *_] = EVERY
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = optimizers.build(kind, [parameter])
    assert isinstance(optimizer, Eager)
    optimizer.largest = 1.0
    parameter.grad = torch.tensor([1e25])
    optimizer.step()
    assert parameter.item() == 0


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_optimizer_state_with_squares_that_overflow_is_saved_exactly(options: Optimizer) -> None:
    whole = path(options, HUGE, torch.float32)
    parameter = torch.nn.Parameter(torch.zeros(3))
    optimizer = optimizers.build(options, [parameter])
    for gradient, place in zip(HUGE, whole, strict=True):
        saved = optimizer.state_dict()
        optimizer = optimizers.build(options, [parameter])
        optimizer.load_state_dict(saved)
        parameter.grad = gradient.clone()
        optimizer.step()
        assert torch.equal(parameter, place)


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_parameter_without_a_gradient_is_unchanged(options: Optimizer) -> None:
    still, moving = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = optimizers.build(options, [still, moving])
    moving.grad = torch.ones(2)
    optimizer.step()
    assert still.tolist() == [1, 1]
    assert moving.tolist() != [1, 1]
