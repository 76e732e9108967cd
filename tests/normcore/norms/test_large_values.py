"""Large and small values are normalized in float32 as in float64, by every method of ours."""

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
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.query_key_norm import QueryKeyNorm
from tests.normcore.networks import taking_in
from tests.normcore.norms.test_contract import LAYERS_OF, OF_CELLS, layer, options_of

DIVIDING = [name for name in METHODS.ours if name not in ("none", "weight_norm", "dynamic_tanh", "query_key_norm")]
OVER_BATCH = [name for name in DIVIDING if "batch" in name]
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


def hold_against_float64(norm: nn.Module, a: Tensor, exactly: float = 1e-5) -> None:
    exact = outputs_and_gradients(copy.deepcopy(norm).double(), a.double())
    found = outputs_and_gradients(norm, a)
    subnormal = torch.finfo(a.dtype).tiny * torch.finfo(a.dtype).eps
    for name, right in exact.items():
        size = max(right.abs().max().item(), min(1, 1 / a.abs().max().item()) if name == "a" else 0)
        if right.numel() == 1:  # one number sums over all values, whose terms cancel
            size *= a.numel() ** 0.5
        near = exactly * size + subnormal
        torch.testing.assert_close(found[name].double(), right, rtol=0, atol=near, msg=f"{name} of {norm}")


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
    """Their variance does not fit into float32. Saving and loading keeps it, too."""
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
