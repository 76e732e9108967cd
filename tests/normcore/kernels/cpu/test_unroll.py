"""The compiled kernels give what the reference gives: in float64 to 12 digits, in float32 as closely as eager torch."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from normcore import recurrent
from normcore.kernels import cpu
from normcore.norms.population import batch_norms, population_statistics
from normcore.recurrent import Recurrent
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from tests.normcore.kernels.cpu.compared import (
    CASES,
    cell_of,
    differences,
    drawn,
    everything,
    know_a_population,
    of_both,
    relative,
)

EXACT = 1e-11
DEFAULTS = [case for case in CASES if not case[2]]
case = pytest.mark.parametrize(("cell", "method", "options"), CASES)
default = pytest.mark.parametrize(("cell", "method"), [case[:2] for case in DEFAULTS])


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def some_mask(steps: int, batch: int) -> Tensor:
    """Lengths from none to all."""
    return torch.arange(steps).unsqueeze(1) < torch.arange(batch) * steps // max(1, batch - 1)


@case
@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize("threads", [1, 2])
def test_outputs_gradients_and_moments_are_the_references(
    cell: str, method: str, options: dict[str, Any], masked: bool, threads: int
) -> None:
    torch.set_num_threads(threads)
    built = cell_of(cell, method, options, inputs=3, hidden=21)
    x, start = drawn(built, steps=5, batch=7)
    found = of_both(built, x, start, some_mask(5, 7) if masked else None)
    assert max(found.values()) < EXACT, found


@case
def test_what_is_kept_of_the_inputs_term_changes_nothing(cell: str, method: str, options: dict[str, Any]) -> None:
    built = cell_of(cell, method, options, inputs=70, hidden=40)
    x, start = drawn(built, steps=9, batch=4)
    found = of_both(built, x, start)
    assert max(found.values()) < EXACT, found


@settings(max_examples=60, deadline=None)
@given(
    case=st.sampled_from(CASES),
    steps=st.integers(1, 12),
    batch=st.integers(2, 40),
    inputs=st.integers(1, 20),
    hidden=st.integers(2, 70),
    masked=st.booleans(),
    threads=st.integers(1, 3),
)
def test_of_any_shape(
    case: tuple[str, str, dict[str, Any]],
    steps: int,
    batch: int,
    inputs: int,
    hidden: int,
    masked: bool,
    threads: int,
) -> None:
    torch.set_num_threads(threads)
    built = cell_of(*case, inputs=inputs, hidden=hidden)
    x, start = drawn(built, steps, batch)
    found = of_both(built, x, start, some_mask(steps, batch) if masked else None)
    assert max(found.values()) < 1e-9, found  # of some of a few numbers, little is left


@case
def test_one_example_where_the_method_allows_it(cell: str, method: str, options: dict[str, Any]) -> None:
    built = cell_of(cell, method, options, inputs=3, hidden=5)
    x, start = drawn(built, steps=4, batch=1)
    if batch_norms(built):
        with pytest.raises(ValueError, match="2 or more examples"):
            cpu.unroll(built, x, start)
    else:
        assert max(of_both(built, x, start).values()) < EXACT


@case
@pytest.mark.parametrize("steps", [3, 9], ids=["fewer steps than known", "more"])
def test_evaluation_by_the_population(cell: str, method: str, options: dict[str, Any], steps: int) -> None:
    built = cell_of(cell, method, options, inputs=3, hidden=21).eval()
    know_a_population(built, steps=6)
    x, start = drawn(built, steps, batch=5)
    with torch.no_grad():
        for t in (0, 2):
            found, expected = (
                unroll(built, x, start, t, some_mask(steps, 5)) for unroll in (cpu.unroll, recurrent.unroll)
            )
            for name in ("y", "end"):
                for ours, theirs in zip(getattr(found, name), getattr(expected, name), strict=True):
                    assert relative(ours, theirs) < EXACT
            assert found.moments == {}


def test_the_gradient_in_evaluation_is_the_references() -> None:
    built = cell_of("lstm", "recurrent_batch_norm", {}, inputs=3, hidden=5).eval()
    know_a_population(built, steps=2)
    x, start = drawn(built, steps=4, batch=3)
    assert set(of_both(built, x, start).values()) == {0.0}


def test_a_population_collected_by_either_is_the_same() -> None:
    built = cell_of("lstm", "recurrent_batch_norm", {"population": "pass"}, inputs=3, hidden=21).eval()
    x, start = drawn(built, steps=4, batch=6)
    populations = []
    with torch.no_grad():
        for unroll in (cpu.unroll, recurrent.unroll):
            with population_statistics(built):
                recurrent.take_in_moments(built, unroll(built, x, start).moments)
            populations.append(
                {name: (norm.running_mean, norm.running_var) for name, norm in batch_norms(built).items()}
            )
    assert populations[0].keys() == {"norm_x", "norm_h", "norm_c"}
    for name, known in populations[0].items():
        for ours, theirs in zip(known, populations[1][name], strict=True):
            assert relative(ours, theirs) < EXACT


@default
@pytest.mark.parametrize("scale", [1e6, 1e-20, 0.0], ids=str)
def test_inputs_of_any_size_and_features_that_are_constant(cell: str, method: str, scale: float) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=21)
    x, start = drawn(built, steps=4, batch=6)
    x = x * scale
    x[..., 0] = scale
    found = of_both(built, x, start)
    assert max(found.values()) < 1e-9, found


@default
def test_a_state_that_all_examples_share_is_constant_in_float32_too(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=37).float()
    x, _ = drawn(built, steps=3, batch=64)
    x[0] = x[0, :1]  # nor does the first input vary
    start = built.initial_state(64)
    found, expected = (everything(unroll, built, x, start) for unroll in (cpu.unroll, recurrent.unroll))
    assert max(differences(found, expected).values()) < 2e-4
    for name, moments in found.items():
        if name.startswith("moments"):
            assert not moments[1, 0].any(), "the variance of the first step"


@default
def test_float32_is_as_close_to_float64_as_eager_torch(cell: str, method: str) -> None:
    for steps, allowed in ((16, 1e-5), (100, 0.0)):
        built = cell_of(cell, method, {}, inputs=8, hidden=50)
        x, start = drawn(built, steps, batch=20)
        exact = everything(recurrent.unroll, built, x, start)
        built, x, start = built.float(), x.float(), type(start)(*[part.float() for part in start])
        fused, eager = (
            differences(everything(unroll, built, x, start), exact) for unroll in (cpu.unroll, recurrent.unroll)
        )
        for name, off in fused.items():
            assert off < max(allowed, 5 * max(eager[name], 1e-6)), (steps, name, off, eager[name])


@default
def test_the_same_call_gives_the_same_bits(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=50).float()
    x, start = drawn(built, steps=20, batch=33)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        first, second = (everything(cpu.unroll, built, x, start) for _ in range(2))
        for name, tensor in first.items():
            assert torch.equal(tensor, second[name]), name


@default
def test_what_differs_with_the_number_of_threads(cell: str, method: str) -> None:
    """Sums over the examples, for the gradients of biases and gains, where threads share the examples."""
    built = cell_of(cell, method, {}, inputs=3, hidden=50).float()
    x, start = drawn(built, steps=20, batch=33)
    of_threads = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        of_threads.append(everything(cpu.unroll, built, x, start))
    differ = {name for name, tensor in of_threads[0].items() if not torch.equal(tensor, of_threads[1][name])}
    assert all(of_threads[0][name].dim() == 1 for name in differ), differ
    if method == "recurrent_batch_norm":
        assert differ == set()
    assert max(differences(*of_threads).values()) < 1e-5


@default
def test_a_sequence_in_two_parts_has_the_same_bits(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=50).float()
    x, start = drawn(built, steps=20, batch=33)
    with torch.no_grad():
        whole = cpu.unroll(built, x, start)
        first = cpu.unroll(built, x[:7], start)
        second = cpu.unroll(built, x[7:], first.end, 7)
    assert torch.equal(torch.cat([first.y, second.y]), whole.y)


@default
def test_inputs_that_lie_in_another_order(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=6, hidden=21)
    x, start = drawn(built, steps=4, batch=5)
    expected = everything(cpu.unroll, built, x, start)
    strange = x.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    assert not strange.is_contiguous()
    found = everything(cpu.unroll, built, strange, start)
    assert set(differences(found, expected).values()) == {0.0}


@default
def test_what_is_not_a_number_comes_out_as_none(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=6, hidden=21)
    x, start = drawn(built, steps=4, batch=5)
    x[1, 2, 3] = torch.nan
    y = cpu.unroll(built, x, start).y
    assert y[0].isfinite().all()
    assert y[1, 2].isnan().all()
    others = [0, 1, 3, 4]
    assert y[:, others].isfinite().all() == (method != "recurrent_batch_norm")


@pytest.mark.parametrize("cell", CELLS)
def test_only_the_end_or_only_the_outputs_are_used(cell: str) -> None:
    built = cell_of(cell, "layer_norm", {}, inputs=3, hidden=5)
    x, start = drawn(built, steps=4, batch=2)
    for loss in (lambda done: done.y.sum(), lambda done: sum(part.sum() for part in done.end)):
        grads = []
        for unroll in (cpu.unroll, recurrent.unroll):
            built.zero_grad()
            loss(unroll(built, x, start)).backward()  # type: ignore[no-untyped-call]
            grads.append(built.weight_hh.grad)
        assert relative(*grads) < EXACT


@default
def test_gradients_are_those_of_finite_differences(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=2, hidden=3)
    x, start = drawn(built, steps=3, batch=4)
    module = _Unrolled(built, start)
    names = [name for name, _ in module.named_parameters()]

    def outputs(x: Tensor, *values: Tensor) -> Any:
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), x)

    values = [parameter.detach().clone().requires_grad_() for parameter in built.parameters()]
    assert torch.autograd.gradcheck(outputs, (x.requires_grad_(), *values))


class _Unrolled(nn.Module):
    """The outputs of a cell, for ``functional_call``."""

    def __init__(self, cell: nn.Module, start: Any) -> None:
        super().__init__()
        self.cell, self.start = cell, start

    def forward(self, x: Tensor) -> Tensor:
        return cpu.unroll(self.cell, x, self.start).y  # type: ignore[arg-type]


def test_the_gradient_of_the_gradient_is_refused() -> None:
    built = cell_of("lstm", "none", {}, inputs=2, hidden=3)
    x, start = drawn(built, steps=3, batch=4)
    loss = cpu.unroll(built, x, start).y.square().sum()
    (grad,) = torch.autograd.grad(loss, built.weight_hh, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.sum().backward()


def test_backward_may_run_again_where_the_graph_is_kept() -> None:
    built = cell_of("lstm", "layer_norm", {}, inputs=2, hidden=3)
    x, start = drawn(built, steps=3, batch=4)
    loss = cpu.unroll(built, x, start).y.square().sum()
    once, again = (torch.autograd.grad(loss, built.weight_hh, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(once, again)


def test_under_autocast_it_computes_in_float32() -> None:
    built = cell_of("lstm", "layer_norm", {}, inputs=3, hidden=21).float()
    x, start = drawn(built, steps=5, batch=4)
    exact = cpu.unroll(built, x, start).y
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(cpu.unroll(built, x, start).y, exact)
        assert relative(recurrent.unroll(built, x, start).y, exact) < 2e-2


def _grad(tensor: Tensor) -> Tensor:
    assert tensor.grad is not None
    return tensor.grad


NETWORKS = [
    (cell, method, bidirectional)
    for cell, method, bidirectional in itertools.product(CELLS, METHODS, (False, True))
    if (cell, method, {}) in DEFAULTS
]


@pytest.mark.parametrize(("cell", "method", "bidirectional"), NETWORKS)
def test_networks_of_layers_and_directions_with_lengths(cell: str, method: str, bidirectional: bool) -> None:
    options = CELLS[cell].model_validate({"hidden_size": 9, "num_layers": 2, "bidirectional": bidirectional})
    norm = METHODS[method].model_validate({"method": method, **METHODS[method].defaults(type(options))})
    found = []
    for kernel, unroll in (("fused", cpu.unroll), ("reference", recurrent.unroll)):
        torch.manual_seed(0)
        network = Recurrent(options, 3, norm, kernel, unroll).double()
        x = torch.randn(6, 5, 3, dtype=torch.float64, requires_grad=True)
        y, end = network(x, torch.tensor([6, 0, 3, 1, 5]))
        (y.square().sum() + sum(part.sum() for state in end.cells for part in state)).backward()
        grads = {name: _grad(parameter) for name, parameter in network.named_parameters()}
        assert grads["cells.0.h0"].any(), "the trained first state"
        found.append({"y": y.detach(), "x": _grad(x), **grads})
    assert max(differences(*found).values()) < EXACT
