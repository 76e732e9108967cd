"""Every cell equals the papers' equations in float64, with every method that ``equations.py`` implements."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from tests.normcore.cells.equations import WRITTEN, Equations
from tests.normcore.networks import recurrent

STEPS, BATCH, INPUTS, HIDDEN = 4, 5, 3, 8
LENGTHS = [4, 1, 3, 0, 2]
SMALL = 0.03  # gradients below this part of the largest gradient may have its rounding errors
NORMS: dict[str, dict[str, Any]] = {
    **{name: {"method": name} for name in WRITTEN},
    "ln_outside": {"method": "layer_norm", "bias": "outside"},
    "ln_inside": {"method": "layer_norm", "bias": "inside"},
    "ln_both": {"method": "layer_norm", "bias": "both", "eps": 1e-3},
    "ln_per_gate": {"method": "layer_norm", "scope": "per_gate"},
    "ln_simple": {"method": "layer_norm", "affine": False},
    "ln_recurrent_term": {"method": "layer_norm", "sites": ["recurrent"]},
    "wn_mean_only": {"method": "weight_norm", "mean_only_batch_norm": True},
    "rbn_large_eps": {"method": "recurrent_batch_norm", "eps": 1e-2, "gain_init": 0.7},
    "rbn_input_term": {"method": "recurrent_batch_norm", "sites": ["input"]},
    "rbn_shared": {"method": "recurrent_batch_norm", "statistics": "shared"},
    "rbn_running": {"method": "recurrent_batch_norm", "population": "running", "momentum": 0.3},
    "rbn_shared_running": {"method": "recurrent_batch_norm", "statistics": "shared", "population": "running"},
}
OF_THE_LSTM: dict[str, dict[str, Any]] = {
    "rbn_sum": {"method": "recurrent_batch_norm", "sites": ["sum", "cell"]},
    "rbn_carried": {"method": "recurrent_batch_norm", "carry": "normalized"},
    "ln_sum": {"method": "layer_norm", "sites": ["sum"], "bias": "both"},
    "ln_draw": {"method": "layer_norm", "sites": ["cell"]},
}
CELLS_AND_NORMS = [
    *((f"{cell}-{name}", cell, norm) for cell in CELLS.ours for name, norm in NORMS.items()),
    *((f"lstm-{name}", "lstm", norm) for name, norm in OF_THE_LSTM.items()),
]


@dataclass(frozen=True)
class Precision:
    """Error bounds: absolute for outputs, relative to the largest gradient of a parameter for gradients."""

    dtype: torch.dtype
    outputs: float
    gradients: float
    autocast: bool = False

    def context(self) -> AbstractContextManager[object]:
        return torch.autocast("cpu", torch.bfloat16) if self.autocast else nullcontext()


FLOAT64 = Precision(torch.float64, 1e-9, 1e-9)
FLOAT32 = Precision(torch.float32, 1e-5, 5e-5)
BFLOAT16 = Precision(torch.float32, 0.05, 0.35, autocast=True)
MODES = {"train": False, "eval": True}
ALWAYS = {"float64-variable": (FLOAT64, STEPS, LENGTHS)}
BY_TURNS = {
    "float64-full": (FLOAT64, STEPS, None),
    "float64-one_step": (FLOAT64, 1, None),
    "float32-variable": (FLOAT32, STEPS, LENGTHS),
    "bfloat16-variable": (BFLOAT16, STEPS, LENGTHS),
}
TURNS = list(product(MODES, BY_TURNS))


def computations() -> Iterator[Any]:
    """Each cell with each norm: both modes with variable lengths in float64, and two other computations in turn.

    No cell and no norm has code of its own for these others, and each cell and most norms get all of them.
    """
    for k, (pair, cell, norm) in enumerate(CELLS_AND_NORMS):
        chosen = [*product(MODES, ALWAYS), TURNS[k % len(TURNS)], TURNS[(k + 3) % len(TURNS)]]
        for mode, name in chosen:
            computation = (ALWAYS | BY_TURNS)[name]
            yield pytest.param(cell, norm, MODES[mode], *computation, id=f"{pair}-{mode}-{name}")


def network(cell: str, norm: dict[str, Any], dtype: torch.dtype = torch.float64) -> Recurrent:
    """Build a network with random parameters."""
    torch.default_generator.manual_seed(1)
    network = recurrent(cell, INPUTS, HIDDEN, norm=norm)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return network.to(dtype)


def gradient_of(value: Tensor) -> Tensor:
    assert value.grad is not None
    return value.grad


def sequence(steps: int = STEPS, seed: int = 2) -> Tensor:
    """Make inputs that float32 represents exactly; step 0 is the same for all examples, like the border of images."""
    x = torch.randn(steps, BATCH, INPUTS, generator=torch.Generator().manual_seed(seed))
    if steps > 1:
        x[0] = 0.7
    return x.double()


def equations(network: Recurrent, cell: str, norm: dict[str, Any]) -> Equations:
    parameters = {
        name.removeprefix("cells.0."): parameter.detach().double().requires_grad_()
        for name, parameter in network.named_parameters()
    }
    method = METHODS[norm["method"]]
    return Equations(cell, method.model_validate({**method.defaults(CELLS[cell]), **norm}).model_dump(), parameters)


@torch.no_grad()
def learn_population(network: Recurrent, norm: dict[str, Any], batches: list[Tensor]) -> None:
    with nullcontext() if norm.get("population") == "running" else population_statistics(network):
        for x in batches:
            network(x)


@pytest.mark.parametrize(("cell", "norm", "evaluation", "precision", "steps", "lengths"), list(computations()))
def test_outputs_and_every_gradient_follow_the_equations(
    cell: str, norm: dict[str, Any], evaluation: bool, precision: Precision, steps: int, lengths: list[int] | None
) -> None:
    ours = network(cell, norm, precision.dtype)
    written = equations(ours, cell, norm)
    if evaluation:
        training_set = [sequence(STEPS - 1, seed=3), sequence(STEPS - 2, seed=4)]  # shorter than the test sequence
        learn_population(ours, norm, [x.to(precision.dtype) for x in training_set])
        written.learn_population(training_set)
        ours.eval()
    x_theirs = sequence(steps).requires_grad_()
    x_ours = x_theirs.detach().to(precision.dtype).requires_grad_()
    with precision.context():
        y_ours, _ = ours(x_ours, None if lengths is None else torch.tensor(lengths))
    y_theirs = written.unroll(x_theirs, lengths)
    torch.testing.assert_close(y_ours.double(), y_theirs, rtol=0, atol=precision.outputs)

    weights = torch.randn(y_theirs.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    (y_ours * weights).sum().backward()
    torch.autograd.backward((y_theirs * weights).sum())
    pairs = {name: (p, written.parameters[name.removeprefix("cells.0.")]) for name, p in ours.named_parameters()}
    gradients = {
        name: (gradient_of(mine), gradient_of(theirs))
        for name, (mine, theirs) in {**pairs, "x": (x_ours, x_theirs)}.items()
    }
    largest = max(theirs.abs().max().item() for _, theirs in gradients.values())
    for name, (mine, theirs) in gradients.items():
        near = precision.gradients * max(theirs.abs().max().item(), SMALL * largest)
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=near, msg=partial("{}: {}".format, name))


def differences() -> Iterator[Any]:
    """Each cell with each norm, in one of the two modes and with equal or with different lengths, in turn: the test
    above compares gradients in all of them."""
    for k, (pair, cell, norm) in enumerate(CELLS_AND_NORMS):
        mode = list(MODES)[k % 2]
        name, lengths = [("variable", [3, 1, 2, 0, 3]), ("full", None)][k // 2 % 2]
        yield pytest.param(cell, norm, MODES[mode], lengths, id=f"{pair}-{mode}-{name}")


@pytest.mark.parametrize(("cell", "norm", "evaluation", "lengths"), list(differences()))
def test_gradients_agree_with_finite_differences(
    cell: str, norm: dict[str, Any], evaluation: bool, lengths: list[int] | None
) -> None:
    ours = network(cell, norm)
    names = [name for name, _ in ours.named_parameters()]
    learn_population(ours, norm, [sequence(2)])
    ours.train(not evaluation)
    ends = None if lengths is None else torch.tensor(lengths)

    def outputs(x: Tensor, *parameters: Tensor) -> Tensor:
        y: Tensor = torch.func.functional_call(ours, dict(zip(names, parameters, strict=True)), (x, ends))[0]
        return y

    # No step of the input is constant: there, by definition, the gradient is not the difference quotient.
    varied = torch.randn(3, BATCH, INPUTS, dtype=torch.float64, requires_grad=True)
    inputs = (varied, *(p.detach().requires_grad_() for p in ours.parameters()))
    assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True)
    if lengths is not None:
        assert torch.autograd.gradgradcheck(outputs, inputs, fast_mode=True)
