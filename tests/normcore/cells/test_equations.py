"""Every cell under every method against the papers' equations, in float64."""

from typing import Any

import pytest
import torch
from torch import Tensor

from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent
from normcore.spec.methods import METHODS
from tests.normcore.cells.equations import Equations

STEPS, BATCH, INPUTS, HIDDEN = 4, 5, 3, 4
LENGTHS = [4, 1, 3, 0, 2]
CELLS = ("rnn", "lstm", "gru")
NORMS: dict[str, dict[str, Any]] = {
    **{name: {"method": name} for name, method in METHODS.items() if method.cells},
    "ln_outside": {"method": "layer_norm", "bias": "outside"},
    "ln_inside": {"method": "layer_norm", "bias": "inside"},
    "ln_both": {"method": "layer_norm", "bias": "both", "eps": 1e-3},
    "ln_per_gate": {"method": "layer_norm", "scope": "per_gate"},
    "ln_simple": {"method": "layer_norm", "affine": False},
    "ln_recurrent_term": {"method": "layer_norm", "sites": ["recurrent"]},
    "wn_mean_only": {"method": "weight_norm", "mean_only_batch_norm": True},
    "rms_per_gate": {"method": "rms_norm", "scope": "per_gate"},
    "rbn_large_eps": {"method": "recurrent_batch_norm", "eps": 1e-2, "gain_init": 0.7},
    "rbn_input_term": {"method": "recurrent_batch_norm", "sites": ["input"]},
}
OF_THE_LSTM: dict[str, dict[str, Any]] = {
    "rbn_sum": {"method": "recurrent_batch_norm", "sites": ["sum", "cell"]},
    "rbn_carried": {"method": "recurrent_batch_norm", "carry": "normalized"},
    "ln_sum": {"method": "layer_norm", "sites": ["sum"], "bias": "both"},
    "ln_draw": {"method": "layer_norm", "sites": ["cell"]},
}
product = pytest.mark.parametrize(
    ("cell", "norm"),
    [
        *(pytest.param(c, norm, id=f"{c}-{name}") for c in CELLS for name, norm in NORMS.items()),
        *(pytest.param("lstm", norm, id=f"lstm-{name}") for name, norm in OF_THE_LSTM.items()),
    ],
)
each_length = pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "variable"])


def network(cell: str, norm: dict[str, Any]) -> Recurrent:
    """A network whose parameters all differ from their neat initial values."""
    torch.manual_seed(1)
    network = Recurrent(cell, INPUTS, HIDDEN, norm=norm).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return network


def sequence(steps: int = STEPS) -> Tensor:
    torch.manual_seed(2)
    x = torch.randn(steps, BATCH, INPUTS, dtype=torch.float64)
    x[0] = 0.7  # one step that is the same for all examples, as the border of images
    return x


def equations(network: Recurrent, cell: str, norm: dict[str, Any]) -> Equations:
    parameters = {
        name.removeprefix("cells.0."): parameter.detach().clone().requires_grad_()
        for name, parameter in network.named_parameters()
    }
    method = METHODS[norm["method"]]
    return Equations(cell, method.model_validate({**method.defaults(cell), **norm}).model_dump(), parameters)


def assert_same(network: Recurrent, written: Equations, x: Tensor, lengths: list[int] | None) -> None:
    """The same outputs and the same gradients, by name."""
    x_ours, x_theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours, _ = network(x_ours, None if lengths is None else torch.tensor(lengths))
    theirs = written.unroll(x_theirs, lengths)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)
    weights = torch.randn(ours.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    (ours * weights).sum().backward()
    (theirs * weights).sum().backward()
    torch.testing.assert_close(x_ours.grad, x_theirs.grad, rtol=1e-9, atol=1e-9)
    for name, parameter in network.named_parameters():
        expected = written.parameters[name.removeprefix("cells.0.")].grad
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-9, atol=1e-9, msg=lambda m, n=name: f"{n}: {m}")


@each_length
@product
def test_training_follows_the_equations_and_so_does_every_gradient(
    cell: str, norm: dict[str, Any], lengths: list[int] | None
) -> None:
    ours = network(cell, norm)
    assert_same(ours, equations(ours, cell, norm), sequence(), lengths)


@each_length
@product
def test_evaluation_follows_the_equations_and_so_does_every_gradient(
    cell: str, norm: dict[str, Any], lengths: list[int] | None
) -> None:
    ours = network(cell, norm)
    written = equations(ours, cell, norm)
    training_set = sequence(STEPS - 1)
    with torch.no_grad(), population_statistics(ours):
        ours(training_set)
    with torch.no_grad():
        written.unroll(training_set)
    written.population, written.seen = written.seen, {}
    assert_same(ours.eval(), written, sequence() + 0.1, lengths)


@pytest.mark.parametrize("evaluation", [False, True], ids=["train", "eval"])
@product
def test_gradients_agree_with_finite_differences(cell: str, norm: dict[str, Any], evaluation: bool) -> None:
    ours = network(cell, norm)
    names = [name for name, _ in ours.named_parameters()]
    x = sequence(3)
    with torch.no_grad(), population_statistics(ours):
        ours(x[:2])
    ours.train(not evaluation)

    def outputs(x: Tensor, *parameters: Tensor) -> Tensor:
        y: Tensor = torch.func.functional_call(ours, dict(zip(names, parameters, strict=True)), (x,))[0]
        return y

    # a constant step of the input stays out: there, by definition, the gradient is not the difference quotient
    varied = torch.randn(3, BATCH, INPUTS, dtype=torch.float64, requires_grad=True)
    inputs = (varied, *(p.detach().requires_grad_() for p in ours.parameters()))
    assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(outputs, inputs, fast_mode=True)
