"""Large and small values are normalized in float32 as in float64, by every method of ours."""

import copy
import math

import pytest
import torch
from torch import Tensor, nn

from normcore.norms import build
from normcore.spec.methods import METHODS
from tests.normcore.norms.test_contract import LAYERS_OF, OF_CELLS, layer, options_of

KEEPS_NO_VARIANCE = {"none", "rms_norm", "weight_norm", "dynamic_tanh", "query_key_norm"}
SIZES = [(m, size) for m in METHODS.ours for size in (1e-20, 1e15, 1e18, 1e37) if size < 1e19 or m in KEEPS_NO_VARIANCE]


def outputs_and_gradients(norm: nn.Module, a: Tensor) -> dict[str, Tensor]:
    a = a.clone().requires_grad_()
    y = norm(a, 0) if a.dim() == 3 else norm(a)
    (
        y * torch.randn(y.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).to(y.dtype)
    ).sum().backward()
    gradients = {name: p.grad for name, p in norm.named_parameters() if p.grad is not None}
    assert a.grad is not None
    return {"y": y.detach(), "a": a.grad, **gradients}


def hold_against_float64(norm: nn.Module, a: Tensor) -> None:
    exactly = outputs_and_gradients(copy.deepcopy(norm).double(), a.double())
    found = outputs_and_gradients(norm, a)
    for name, exact in exactly.items():
        near = 1e-5 * max(exact.abs().max().item(), min(1, 1 / a.abs().max().item()) if name == "a" else 0)
        torch.testing.assert_close(found[name].double(), exact, rtol=0, atol=near, msg=f"{name} of {norm}")


@pytest.mark.parametrize(("method", "size"), SIZES)
def test_what_is_large_or_small_is_normalized_in_float32_as_in_float64(method: str, size: float) -> None:
    """A variance above 1e19 squared is more than float32 holds: norms over the batch keep it, and others are
    torch's.
    """
    a = size * torch.randn(3, 16, 64, generator=torch.Generator().manual_seed(1))
    if method in OF_CELLS:
        hold_against_float64(build(options_of(method)).norm(16, "input", (4,)), a)
    for shape in [shape for m, shape in LAYERS_OF if m == method]:
        hold_against_float64(
            layer(method, shape).float().train(), a.reshape(-1)[: 8 * math.prod(shape)].view(8, *shape)
        )
