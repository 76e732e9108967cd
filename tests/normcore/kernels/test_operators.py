"""The kernels are operators of torch: compilers know the shapes of their results, and their gradients."""

import importlib
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad

from tests.normcore.kernels.cell_pass import cell_of, drawn, everything, in_float32, some_mask

CASES = [
    ("lstm", "layer_norm", 70),
    ("gru", "recurrent_batch_norm", 3),
    ("rnn", "recurrent_batch_norm", 3),
]
CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor")
DOORS = [
    "normcore.kernels.cpu.unroll",
    pytest.param("normcore.kernels.gpu.unroll", marks=pytest.mark.filterwarnings("ignore:overflow")),
]


def arguments(door: str, cell: str, method: str, inputs: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Any]]:
    """Return the operator that ``unroll`` calls, and the arguments of that call."""
    if "gpu" in door:
        pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
    module = importlib.import_module(door)
    name = "recurrence" if "cpu" in door else "term_recurrence"
    operator, calls = getattr(module, name), []

    def note(*given: Any, **named: Any) -> Any:
        calls.append([*given, *named.values()])
        return operator(*given, **named)

    monkeypatch.setattr(module, name, note)
    built = cell_of(cell, method, {}, inputs=inputs, hidden=5)
    built, x, start = in_float32(built, *drawn(built, steps=3, batch=4))
    module.unroll(built, x, start, 0, some_mask(3, 4))
    [call] = calls
    return operator, [
        given.detach().requires_grad_(given.requires_grad) if is_number(given) else given for given in call
    ]


def is_number(given: Any) -> bool:
    return isinstance(given, Tensor) and given.is_floating_point()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("cell", "method", "inputs"), CASES)
def test_shapes_and_gradients_are_registered_as_torch_checks_them(
    door: str, cell: str, method: str, inputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, given = arguments(door, cell, method, inputs, monkeypatch)
    torch.library.opcheck(operator, tuple(given), test_utils=CHECKS)


@pytest.mark.parametrize(
    ("door", "cell", "method", "options"),
    [
        ("normcore.kernels.cpu.unroll", "lstm", "layer_norm", {}),
        ("normcore.kernels.cpu.unroll", "gru", "recurrent_batch_norm", {}),
        ("normcore.kernels.gpu.unroll", "lstm", "layer_norm", {"sites": ["recurrent", "cell"]}),
        ("normcore.kernels.gpu.unroll", "gru", "none", {}),
    ],
)
def test_compiled_unroll_gives_the_same_bits_for_any_shape(
    door: str, cell: str, method: str, options: dict[str, Any]
) -> None:
    """Norms of the input, which Triton's kernels leave to torch, look at values on the CPU."""
    if "gpu" in door:
        pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
    unroll = importlib.import_module(door).unroll
    torch._dynamo.reset()
    compiled = torch.compile(unroll, fullgraph=True, backend="aot_eager", dynamic=True)
    built = cell_of(cell, method, options, inputs=3, hidden=5)
    for steps, batch in ((3, 4), (5, 6)):
        _, x, start = in_float32(built, *drawn(built.float(), steps=steps, batch=batch))
        mask = some_mask(steps, batch)
        found, expected = (everything(run, built, x, start, mask) for run in (compiled, unroll))
        assert found.keys() == expected.keys()
        for name, tensor in found.items():
            assert torch.equal(tensor, expected[name]), (name, steps, batch)


@pytest.mark.parametrize("door", DOORS)
def test_forward_mode_is_refused_and_not_zero(door: str) -> None:
    if "gpu" in door:
        pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
    unroll = importlib.import_module(door).unroll
    built = cell_of("lstm", "layer_norm", {}, inputs=3, hidden=5)
    built, x, start = in_float32(built, *drawn(built, steps=3, batch=4))
    x, start = x.detach(), type(start)(*(part.detach() for part in start))
    with pytest.raises(RuntimeError, match=r"no derivatives of forward mode.*kernel=.reference"):
        torch.func.jvp(lambda given: unroll(built, given, start).y, (x,), (torch.ones_like(x),))
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="no derivatives of forward mode"):
        unroll(built, forward_ad.make_dual(x, torch.ones_like(x)), start)  # type: ignore[no-untyped-call]
    with pytest.raises(RuntimeError, match=r"none of torch\.func"):
        torch.func.grad(lambda given: unroll(built, given, start).y.sum())(x)


def test_a_frozen_network_inside_of_another_gradient_is_computed() -> None:
    unroll = importlib.import_module("normcore.kernels.cpu.unroll").unroll
    built = cell_of("lstm", "layer_norm", {}, inputs=3, hidden=5)
    built, x, start = in_float32(built, *drawn(built, steps=3, batch=4))

    def frozen() -> Tensor:
        with torch.no_grad():
            y: Tensor = unroll(built, x, start).y
        return y

    expected = frozen().sum()
    factor = torch.tensor(2.0)
    assert torch.equal(torch.func.grad(lambda given: given * frozen().sum())(factor), expected)
    with forward_ad.dual_level():
        assert torch.equal(frozen().sum(), expected)


@pytest.mark.parametrize("door", DOORS)
def test_pass_that_was_recorded_without_gradients_is_differentiated(door: str) -> None:
    """Under vmap, tensors do not tell that gradients of them are needed."""
    if "gpu" in door:
        pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
    unroll = importlib.import_module(door).unroll
    built = cell_of("gru", "none", {}, inputs=3, hidden=5).requires_grad_(False)
    built, x, start = in_float32(built, *drawn(built, steps=3, batch=4))
    start = type(start)(*(part.detach() for part in start))
    one, many = (x.detach().clone().requires_grad_() for _ in range(2))
    unroll(built, one, start).y.square().sum().backward()
    torch.func.vmap(lambda given: unroll(built, given, start).y)(many.unsqueeze(0)).square().sum().backward()
    assert torch.equal(many.grad, one.grad)  # type: ignore[arg-type]
