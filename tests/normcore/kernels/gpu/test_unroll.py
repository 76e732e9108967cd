"""Triton's kernels, by its interpreter on the CPU, give what the reference gives, to 11 digits of float64."""

from typing import Any

import pytest
import torch
from torch import Tensor

from normcore import recurrent
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
    relative,
)

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
from normcore.kernels import gpu
from normcore.kernels.gpu import plan, sequence, steps

EXACT = 1e-11
DEFAULTS = [case for case in CASES if not case[2]]
case = pytest.mark.parametrize(("cell", "method", "options"), CASES)
default = pytest.mark.parametrize(("cell", "method"), [case[:2] for case in DEFAULTS])


def some_mask(steps: int, batch: int) -> Tensor:
    """Lengths from none to all."""
    return torch.arange(steps).unsqueeze(1) < torch.arange(batch) * steps // max(1, batch - 1)


def of_both(cell: Any, x: Tensor, start: Any, mask: Tensor | None = None) -> dict[str, float]:
    """How far the kernels' pass is from the reference's."""
    return differences(everything(gpu.unroll, cell, x, start, mask), everything(recurrent.unroll, cell, x, start, mask))


@pytest.fixture(params=["sequence", "step"])
def a_kernel_for_each(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both designs, whatever fits on a chip; batch norm knows one."""
    if request.param == "step":
        monkeypatch.setattr(plan, "HIDDEN_ON_CHIP", 0)


@case
@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.usefixtures("a_kernel_for_each")
def test_outputs_gradients_and_moments_are_the_references(
    cell: str, method: str, options: dict[str, Any], masked: bool
) -> None:
    built = cell_of(cell, method, options, inputs=3, hidden=5)
    x, start = drawn(built, steps=3, batch=5)
    found = of_both(built, x, start, some_mask(3, 5) if masked else None)
    assert max(found.values()) < EXACT, found


@default
@pytest.mark.parametrize(("batch", "hidden"), [(2, 3), (3, 33), (17, 4), (2, 65)])
@pytest.mark.usefixtures("a_kernel_for_each")
def test_tiles_of_any_shape(cell: str, method: str, batch: int, hidden: int) -> None:
    built = cell_of(cell, method, {}, inputs=2, hidden=hidden)
    x, start = drawn(built, 2, batch)
    found = of_both(built, x, start, some_mask(2, batch))
    assert max(found.values()) < EXACT, found


def test_where_recurrent_weights_fit_on_the_chip_one_kernel_has_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str] = []
    for design in (sequence, steps):
        for pass_ in ("forward", "backward"):
            monkeypatch.setattr(design, pass_, noting(launched, design, pass_))
    for method, hidden, expected in (
        ("layer_norm", 64, "sequence"),
        ("layer_norm", 65, "steps"),
        ("recurrent_batch_norm", 5, "steps"),
    ):
        launched.clear()
        built = cell_of("rnn", method, {}, inputs=2, hidden=hidden)
        everything(gpu.unroll, built, *drawn(built, steps=2, batch=2))
        assert launched == [f"{expected}.forward", f"{expected}.backward"]


def noting(launched: list[str], design: Any, pass_: str) -> Any:
    """A pass that also notes its name."""
    run = getattr(design, pass_)

    def noted(*of: Any) -> None:
        launched.append(f"{design.__name__.rpartition('.')[2]}.{pass_}")
        run(*of)

    return noted


@default
def test_one_example_where_the_method_allows_it(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=5)
    x, start = drawn(built, steps=1, batch=1)
    if batch_norms(built):
        with pytest.raises(ValueError, match="2 or more examples"):
            gpu.unroll(built, x, start)
    else:
        assert max(of_both(built, x, start).values()) < EXACT


@pytest.mark.parametrize(("cell", "method", "options"), [case for case in CASES if case[1] == "recurrent_batch_norm"])
def test_evaluation_by_the_population(cell: str, method: str, options: dict[str, Any]) -> None:
    built = cell_of(cell, method, options, inputs=3, hidden=7).eval()
    know_a_population(built, steps=2)
    x, start = drawn(built, steps=3, batch=5)
    with torch.no_grad():
        for t in (0, 2):
            found, expected = (unroll(built, x, start, t, some_mask(3, 5)) for unroll in (gpu.unroll, recurrent.unroll))
            for ours, theirs in zip([found.y, *found.end], [expected.y, *expected.end], strict=True):
                assert relative(ours, theirs) < EXACT
            assert found.moments == {}


def test_the_gradient_in_evaluation_is_the_references() -> None:
    built = cell_of("lstm", "recurrent_batch_norm", {}, inputs=3, hidden=5).eval()
    know_a_population(built, steps=2)
    x, start = drawn(built, steps=3, batch=3)
    assert set(of_both(built, x, start).values()) == {0.0}


def test_a_population_collected_by_either_is_the_same() -> None:
    built = cell_of("lstm", "recurrent_batch_norm", {"population": "pass"}, inputs=3, hidden=5).eval()
    x, start = drawn(built, steps=3, batch=6)
    populations = []
    with torch.no_grad():
        for unroll in (gpu.unroll, recurrent.unroll):
            with population_statistics(built):
                recurrent.take_in_moments(built, unroll(built, x, start).moments)
            populations.append(
                {name: (norm.running_mean, norm.running_var) for name, norm in batch_norms(built).items()}
            )
    assert populations[0].keys() == populations[1].keys() == {"norm_x", "norm_h", "norm_c"}
    for name, known in populations[0].items():
        for ours, theirs in zip(known, populations[1][name], strict=True):
            assert relative(ours, theirs) < EXACT


@default
@pytest.mark.parametrize("scale", [1e6, 1e-20, 0.0], ids=str)
def test_inputs_of_any_size_and_features_that_are_constant(cell: str, method: str, scale: float) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=5)
    x, start = drawn(built, steps=2, batch=6)
    x = x * scale
    x[..., 0] = scale
    found = of_both(built, x, start)
    assert max(found.values()) < 1e-9, found


@default
def test_a_state_that_all_examples_share_is_constant_in_float32_too(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=7).float()
    x, _ = drawn(built, steps=3, batch=12)
    x[0] = x[0, :1]  # nor does the first input vary
    start = built.initial_state(12)
    found, expected = (everything(unroll, built, x, start) for unroll in (gpu.unroll, recurrent.unroll))
    assert max(differences(found, expected).values()) < 2e-4
    for name, moments in found.items():
        if name.startswith("moments"):
            assert not moments[1, 0].any(), "the variance of the first step"


def test_rounding_is_judged_by_the_size_of_the_products() -> None:
    """Rows of h that differ by their last place, in products that cancel: the sums differ, but they do not vary."""
    built = cell_of("lstm", "recurrent_batch_norm", {}, inputs=2, hidden=4)
    x, start = drawn(built, steps=1, batch=3)
    with torch.no_grad():
        built.weight_hh.copy_(torch.tensor([1.0, -1.0, 1.0, -1.0]) * built.weight_hh.abs().mean(1, keepdim=True))
    h = torch.full_like(start.h, 100.0)
    h[1, 0] += 2e-14  # to the next number
    found, expected = (everything(unroll, built, x, start._replace(h=h)) for unroll in (gpu.unroll, recurrent.unroll))
    assert not expected["moments of norm_h"][1].any()
    assert max(differences(found, expected).values()) < EXACT


@default
def test_float32_is_as_close_to_float64_as_eager_torch(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=9)
    x, start = drawn(built, steps=4, batch=5)
    exact = everything(recurrent.unroll, built, x, start)
    built, x, start = built.float(), x.float(), type(start)(*[part.float() for part in start])
    fused, eager = (
        differences(everything(unroll, built, x, start), exact) for unroll in (gpu.unroll, recurrent.unroll)
    )
    for name, off in fused.items():
        assert off < max(1e-5, 5 * eager[name]), (name, off, eager[name])


@default
def test_the_same_call_gives_the_same_bits(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=5).float()
    x, start = drawn(built, steps=4, batch=5)
    first, second = (everything(gpu.unroll, built, x, start) for _ in range(2))
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


@default
def test_a_sequence_in_two_parts_is_the_same(cell: str, method: str) -> None:
    """Up to the last bits, in which the CPU's products differ with the number of rows."""
    built = cell_of(cell, method, {}, inputs=3, hidden=5)
    x, start = drawn(built, steps=4, batch=5)
    with torch.no_grad():
        whole = gpu.unroll(built, x, start)
        first = gpu.unroll(built, x[:3], start)
        second = gpu.unroll(built, x[3:], first.end, 3)
    assert relative(torch.cat([first.y, second.y]), whole.y) < EXACT


@default
def test_what_is_not_a_number_comes_out_as_none(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=5)
    x, start = drawn(built, steps=2, batch=5)
    x[1, 2, 1] = torch.nan
    y = gpu.unroll(built, x, start).y
    assert y[0].isfinite().all()
    assert y[1, 2].isnan().all()
    assert y[1, [0, 1, 3, 4]].isfinite().all() == (method != "recurrent_batch_norm")


@pytest.mark.parametrize("cell", CELLS)
def test_only_the_end_or_only_the_outputs_are_used(cell: str) -> None:
    built = cell_of(cell, "layer_norm", {}, inputs=3, hidden=5)
    x, start = drawn(built, steps=3, batch=2)
    for loss in (lambda done: done.y.sum(), lambda done: sum(part.sum() for part in done.end)):
        grads = []
        for unroll in (gpu.unroll, recurrent.unroll):
            built.zero_grad()
            loss(unroll(built, x, start)).backward()  # type: ignore[no-untyped-call]
            grads.append(built.weight_hh.grad)
        assert relative(*grads) < EXACT


def test_the_gradient_of_the_gradient_is_refused() -> None:
    built = cell_of("lstm", "none", {}, inputs=2, hidden=3)
    x, start = drawn(built, steps=2, batch=2)
    loss = gpu.unroll(built, x, start).y.square().sum()
    (grad,) = torch.autograd.grad(loss, built.weight_hh, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.sum().backward()


def test_backward_may_run_again_where_the_graph_is_kept() -> None:
    built = cell_of("lstm", "layer_norm", {}, inputs=2, hidden=3)
    x, start = drawn(built, steps=2, batch=2)
    loss = gpu.unroll(built, x, start).y.square().sum()
    once, again = (torch.autograd.grad(loss, built.weight_hh, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(once, again)


def test_under_autocast_it_computes_in_the_weights_precision() -> None:
    built = cell_of("lstm", "layer_norm", {}, inputs=3, hidden=5).float()
    x, start = drawn(built, steps=3, batch=4)
    exact = recurrent.unroll(built, x, start).y
    with torch.autocast("cpu", torch.bfloat16):
        found = gpu.unroll(built, x, start).y
    assert found.dtype == torch.float32
    assert relative(found, exact) < 1e-5


@pytest.mark.parametrize("cell", CELLS)
def test_a_network_of_layers_and_directions_with_lengths(cell: str) -> None:
    options = CELLS[cell].model_validate({"hidden_size": 5, "num_layers": 2, "bidirectional": True})
    method = METHODS["recurrent_batch_norm"]
    norm = method.model_validate({"method": "recurrent_batch_norm", **method.defaults(type(options))})
    found = []
    for kernel, unroll in (("fused", gpu.unroll), ("reference", recurrent.unroll)):
        torch.manual_seed(0)
        network = Recurrent(options, 3, norm, kernel, unroll).double()
        x = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)
        y, end = network(x, torch.tensor([3, 0, 1, 2]))
        (y.square().sum() + sum(part.sum() for state in end.cells for part in state)).backward()
        grads = {name: parameter.grad for name, parameter in network.named_parameters()}
        assert grads["cells.0.h0"] is not None
        assert grads["cells.0.h0"].any(), "the trained first state"
        found.append({"y": y.detach(), "x": x.grad, **grads})
    assert max(differences(*found).values()) < EXACT
