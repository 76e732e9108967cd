"""Functions of cells that Triton lacks."""

import pytest
import torch

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
import triton
import triton.language as tl

from normcore.kernels.gpu.device.cells import tanh


@triton.jit  # type: ignore[untyped-decorator]
def write_tanh(x, y, N: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.arange(0, N)
    tl.store(y + at, tanh(tl.load(x + at)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_tanh_is_accurate_for_small_numbers(dtype: torch.dtype) -> None:
    sizes = torch.logspace(-30, 2, 1024, dtype=torch.float64)
    x = torch.cat([sizes, -sizes]).to(dtype)
    y = torch.empty_like(x)
    write_tanh[(1,)](x, y, len(x))
    expected = x.double().tanh()
    off = (y.double() - expected).abs() / expected.abs()
    assert off.max() < 4 * torch.finfo(dtype).eps


def test_tanh_is_right_for_large_and_special_numbers() -> None:
    x = torch.tensor([0.0, float("inf"), -float("inf"), float("nan"), 1e30, -1e30, 0.625, -0.625], dtype=torch.float64)
    y = torch.empty_like(x)
    write_tanh[(1,)](x, y, len(x))
    torch.testing.assert_close(y, x.tanh(), rtol=1e-15, atol=0, equal_nan=True)
