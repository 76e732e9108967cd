"""What every optimizer owes; tags are found by themselves."""

import pytest
import torch

from normcore.spec.optimizers import OPTIMIZERS, Optimizer
from normcore.spec.optimizers.rmsprop import RMSProp
from normcore.training import optimizers
from tests.normcore.training.optimizers.paths import GRADIENTS, path

EVERY = [kind.model_validate({"name": tag, "lr": 0.01}) for tag, kind in OPTIMIZERS.items()]


@pytest.mark.parametrize("options", [*EVERY, RMSProp(lr=0.01, momentum=0.9)], ids=str)
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


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_a_parameter_without_a_gradient_stays(options: Optimizer) -> None:
    still, moving = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = optimizers.build(options, [still, moving])
    moving.grad = torch.ones(2)
    optimizer.step()
    assert still.tolist() == [1, 1]
    assert moving.tolist() != [1, 1]
