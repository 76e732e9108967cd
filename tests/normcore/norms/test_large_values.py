"""Large and small values and weights are normalized in float32 as in float64, by every method of ours."""

import copy
import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from normcore.norms import build
from normcore.norms.layer_norm import LayerNormalized
from normcore.norms.normalization import size_of_products
from normcore.norms.population import population_statistics
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.query_key_norm import QueryKeyNorm
from tests.normcore.networks import recurrent, taking_in
from tests.normcore.norms.lines_to_write import in_float32_as_in_float64
from tests.normcore.norms.test_contract import LAYERS_OF, OF_CELLS, PAIRS, layer, options_of

DIVIDING = [name for name in METHODS.ours if name not in ("none", "weight_norm", "dynamic_tanh", "query_key_norm")]
OVER_BATCH = [name for name in DIVIDING if "batch" in name]
SCALES = [1e-20, 1e15, 1e20, 1e30]  # factors of weights
WEIGHTS_OF_CELLS = [  # without a norm, gradients of large weights do not fit into float32
    (method, cell, scale)
    for method, cell in PAIRS
    for scale in SCALES
    if method in METHODS.ours and (method != "none" or scale < 1)
]
LARGE = 1e3  # a weight this large is scaled: then some norms cancel the largest parts of its gradient
SHARED = ("bias", "h0", "c0")  # norms over the batch cancel the gradients of what all examples share
SIZES = [(method, size) for method in METHODS.ours for size in (1e-20, 1e15, 1e18, 1e20, 1e30, 1e37)]


def normal(size: float) -> Tensor:
    return size * torch.randn(3, 16, 64, generator=torch.Generator().manual_seed(1))


def near_the_limit() -> Tensor:
    """Values whose sum is infinite in float32."""
    return 3.3e38 * (2 * torch.rand(3, 16, 64, generator=torch.Generator().manual_seed(3)) - 1)


def norms_and_inputs(method: str, a: Tensor) -> Iterator[tuple[nn.Module, Tensor]]:
    if method in OF_CELLS:
        yield build(options_of(method)).norm(16, "input", (4,)), a
    for shape in [shape for m, shape in LAYERS_OF if m == method]:
        yield layer(method, shape).float().train(), a.reshape(-1)[: 8 * math.prod(shape)].view(8, *shape)


def outputs_and_gradients(norm: nn.Module, a: Tensor) -> dict[str, Tensor]:
    a = a.clone().requires_grad_()
    y = norm(a, 0) if a.dim() == 3 else norm(a)
    (
        y * torch.randn(y.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).to(y.dtype)
    ).sum().backward()
    gradients = {name: p.grad for name, p in norm.named_parameters() if p.grad is not None}
    assert a.grad is not None
    return {"y": y.detach(), "a": a.grad, **gradients}


def hold_against_float64(
    module: nn.Module, a: Tensor, exactly: float = 1e-5, norm: nn.Module | None = None, called: str = ""
) -> None:
    """Compare outputs and gradients of a module with those in float64.

    Args:
        norm: the norm in the module that a failure names; the module itself if omitted.
        called: what a failure calls the module.
    """
    exact = outputs_and_gradients(copy.deepcopy(module).double(), a.double())
    found = outputs_and_gradients(module, a)
    subnormal = 8 * torch.finfo(a.dtype).tiny * torch.finfo(a.dtype).eps
    largest = {"a": a.abs().max().item(), **{name: p.abs().max().item() for name, p in module.named_parameters()}}
    for name, right in exact.items():
        size = right.abs().max().item()
        if name == "a" or largest.get(name, 0) > LARGE:
            size = max(size, min(1, 1 / largest[name]))
        if name.rpartition(".")[-1] in SHARED:
            size = max(size, a[..., 0].numel() ** 0.5)
        if right.numel() == 1:  # one number sums over all values, whose terms cancel
            size *= a.numel() ** 0.5
        near = exactly * size + subnormal
        far = (found[name].double() - right).abs().max().item()
        told = f"{name} of {called or module} differs from float64 by {far:.1e}, and {near:.1e} is allowed.\n"
        torch.testing.assert_close(
            found[name].double(), right, rtol=0, atol=near, msg=told + in_float32_as_in_float64(norm or module)
        )


@pytest.mark.parametrize(("method", "size"), SIZES)
def test_large_and_small_values_are_normalized_in_float32_as_in_float64(method: str, size: float) -> None:
    """Squares of values of 1.8e19 or more do not fit into float32."""
    for norm, a in norms_and_inputs(method, normal(size)):
        hold_against_float64(norm, a)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("method", DIVIDING)
def test_values_near_the_largest_float_are_normalized(method: str, dtype: torch.dtype) -> None:
    for norm, a in norms_and_inputs(method, near_the_limit().to(dtype)):
        hold_against_float64(norm, a, 1e-5 if dtype == torch.float32 else 2**-8)


def test_lengths_of_large_queries_equal_float64() -> None:
    hold_against_float64(_WithItself(build(QueryKeyNorm(length=4)).attention(64)), normal(1e30)[0])


@pytest.mark.parametrize(("method", "cell", "scale"), WEIGHTS_OF_CELLS)
def test_large_and_small_weights_of_a_cell_in_float32_act_as_in_float64(method: str, cell: str, scale: float) -> None:
    torch.manual_seed(0)
    options = options_of(method, **METHODS[method].defaults(CELLS[cell]))
    network = with_weights_times(scale, recurrent(cell, 64, 16, norm=options))
    norm = build(options).norm(16, CELLS[cell].usual[0])
    hold_against_float64(_Outputs(network), normal(1.0), norm=norm, called=f"{cell} with {method}, weights x {scale:g}")


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("method", "shape"), [pair for pair in LAYERS_OF if pair[0] in METHODS.ours])
def test_large_and_small_weights_of_a_layer_in_float32_act_as_in_float64(
    method: str, shape: tuple[int, ...], scale: float
) -> None:
    norm = layer(method, shape).float().train()
    product = nn.Linear(10, shape[0], bias=False) if len(shape) == 1 else nn.Conv2d(4, shape[0], 3, bias=False)
    inputs = (10,) if len(shape) == 1 else (4, shape[1] + 2, shape[2] + 2)
    build(options_of(method, **({"groups": 3} if method == "group_norm" else {}))).parametrize(product, "weight")
    a = normal(1.0).reshape(-1)[: 8 * math.prod(inputs)].view(8, *inputs)
    called = f"a layer with {method}, weights x {scale:g}"
    hold_against_float64(nn.Sequential(with_weights_times(scale, product), norm), a, norm=norm, called=called)


@pytest.mark.parametrize("scale", SCALES)
def test_queries_and_keys_of_large_and_small_weights_act_as_in_float64(scale: float) -> None:
    torch.manual_seed(0)
    projection = with_weights_times(scale, nn.Linear(64, 64, bias=False))
    logits = _WithItself(build(QueryKeyNorm(length=4)).attention(64))
    hold_against_float64(nn.Sequential(projection, logits), normal(1.0)[0])


def with_weights_times(scale: float, module: nn.Module) -> nn.Module:
    """Multiply all matrices of a module in place. Matrices with a length and a direction get another direction v, which
    changes nothing."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1 and not name.endswith("original0"):
                parameter.mul_(scale)
    return module


class _Outputs(nn.Module):
    """Outputs of a recurrent network, without its last state."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, t: int) -> Tensor:
        y: Tensor = self.network(x)[0]
        return y


class _WithItself(nn.Module):
    def __init__(self, logits: nn.Module) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, a: Tensor) -> Tensor:
        y: Tensor = self.logits(a, a.flip(0))
        return y


def test_small_example_beside_a_large_example_is_normalized() -> None:
    norm = LayerNormalized([(64,)], (64,), LayerNorm())
    a = normal(1.0)[0]
    a[3] *= 1e30
    a[5] = 7
    hold_against_float64(norm, a)


@pytest.mark.parametrize("method", OVER_BATCH)
def test_population_statistics_of_large_values_are_kept(method: str) -> None:
    """The variance of such values does not fit into float32. Saving and loading keeps it, too."""
    for norm, a in norms_and_inputs(method, normal(1e25)):
        exact, loaded = copy.deepcopy(norm).double(), copy.deepcopy(norm)
        for each in (norm, exact):
            values = a.to(next(each.parameters()).dtype)
            with torch.no_grad(), population_statistics(each):
                taking_in(each, values) if a.dim() == 3 else each(values)
        loaded.load_state_dict(norm.state_dict())
        right = outputs_and_gradients(exact.eval(), a.double())
        for each in (norm.eval(), loaded.eval()):
            found = outputs_and_gradients(each, a)
            for name in ("y", "a"):
                near = 1e-5 * right[name].abs().max().item()
                torch.testing.assert_close(found[name].double(), right[name], rtol=0, atol=near)


def test_the_size_of_products_of_large_rows_is_finite() -> None:
    size = size_of_products(torch.ones(2, 3), torch.full((4, 3), 1e30))()
    torch.testing.assert_close(size, torch.full((2,), 3e30, dtype=size.dtype))


@pytest.mark.parametrize("scale", [1e20, 1e-25])
def test_the_size_of_products_with_large_or_small_weights_is_exact(scale: float) -> None:
    weight = scale * torch.tensor([[3.0, 4.0], [1.0, 0.0]])
    size = size_of_products(weight, torch.tensor([[[2.0, 0.0]], [[0.0, 0.0]]]))()
    right = scale * torch.tensor([[10.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(size.double(), right, rtol=1e-6, atol=0)


def test_the_size_of_products_of_small_rows_is_exact() -> None:
    size = size_of_products(torch.tensor([[3.0, 4.0]]), torch.tensor([[[2e-25, 0.0]], [[0.0, 2.0]], [[0.0, 0.0]]]))()
    torch.testing.assert_close(size, torch.tensor([[1e-24], [10.0], [0.0]]), rtol=1e-6, atol=0)
