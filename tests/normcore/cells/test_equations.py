"""Every cell under every method against the papers' equations, in float64."""

import pytest
import torch
from torch import Tensor

from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent
from tests.normcore.cells.equations import Equations

STEPS, BATCH, INPUTS, HIDDEN = 4, 5, 3, 4
CELLS = ("rnn", "lstm", "gru")
NORMS = {
    "none": {"method": "none"},
    "ln_outside": {"method": "layer_norm", "bias": "outside"},
    "ln_inside": {"method": "layer_norm", "bias": "inside"},
    "ln_both": {"method": "layer_norm", "bias": "both", "eps": 1e-3},
    "rbn": {"method": "recurrent_batch_norm"},
    "rbn_large_eps": {"method": "recurrent_batch_norm", "eps": 1e-2, "gain_init": 0.7},
}
product = pytest.mark.parametrize(("cell", "norm"), [(c, n) for c in CELLS for n in NORMS])


def network(cell: str, norm: dict[str, object]) -> Recurrent:
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


def equations(network: Recurrent, cell: str, norm: dict[str, object]) -> Equations:
    parameters = {
        name.removeprefix("cells.0."): parameter.detach().clone().requires_grad_()
        for name, parameter in network.named_parameters()
    }
    bias = str(norm.get("bias", "outside"))
    return Equations(cell, str(norm["method"]), parameters, bias, float(norm.get("eps", 1e-5)))  # type: ignore[arg-type]


def assert_same(network: Recurrent, written: Equations, x: Tensor) -> None:
    """The same outputs and the same gradients, by name."""
    x_ours, x_theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours, _ = network(x_ours)
    theirs = written.unroll(x_theirs)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)
    weights = torch.randn(ours.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    (ours * weights).sum().backward()
    (theirs * weights).sum().backward()
    torch.testing.assert_close(x_ours.grad, x_theirs.grad, rtol=1e-9, atol=1e-9)
    for name, parameter in network.named_parameters():
        expected = written.parameters[name.removeprefix("cells.0.")].grad
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-9, atol=1e-9, msg=lambda m, n=name: f"{n}: {m}")


@product
def test_training_follows_the_equations_and_so_does_every_gradient(cell: str, norm: str) -> None:
    ours = network(cell, NORMS[norm])
    assert_same(ours, equations(ours, cell, NORMS[norm]), sequence())


@product
def test_evaluation_follows_the_equations_and_so_does_every_gradient(cell: str, norm: str) -> None:
    ours = network(cell, NORMS[norm])
    written = equations(ours, cell, NORMS[norm])
    training_set = sequence(STEPS - 1)
    with torch.no_grad(), population_statistics(ours):
        ours(training_set)
    with torch.no_grad():
        written.unroll(training_set)
    written.population, written.seen = written.seen, {}
    assert_same(ours.eval(), written, sequence() + 0.1)


@pytest.mark.parametrize("evaluation", [False, True], ids=["train", "eval"])
@product
def test_gradients_agree_with_finite_differences(cell: str, norm: str, evaluation: bool) -> None:
    ours = network(cell, NORMS[norm])
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
    assert torch.autograd.gradcheck(outputs, (varied, *ours.parameters()), fast_mode=True)
