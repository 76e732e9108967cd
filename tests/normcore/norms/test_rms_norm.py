import pytest
import torch
from torch.nn import functional

from normcore.norms import build
from normcore.norms.rms_norm import rms_normalized
from normcore.spec.methods.rms_norm import RMSNorm


def test_output_is_the_equation() -> None:
    torch.manual_seed(0)
    norm = build(RMSNorm(eps=1e-3, gain_init=0.5)).norm(6, "input").double()
    a = torch.randn(4, 6, dtype=torch.float64)
    for row, normalized in zip(a, norm(a, 0), strict=True):
        mean_square = sum(value * value for value in row) / 6
        torch.testing.assert_close(normalized, 0.5 * row / (mean_square + 1e-3) ** 0.5, rtol=0, atol=1e-12)
    assert {name for name, _ in norm.named_parameters()} == {"weight"}


def test_output_depends_on_the_shift_and_not_on_the_scale_of_the_input() -> None:
    torch.manual_seed(0)
    norm = build(RMSNorm(eps=1e-12)).norm(6, "input").double()
    a = torch.randn(4, 6, dtype=torch.float64)
    torch.testing.assert_close(norm(7 * a, 0), norm(a, 0), rtol=1e-9, atol=0)
    assert (norm(a + 1, 0) - norm(a, 0)).abs().max() > 0.1


def test_blocks_are_normalized_separately() -> None:
    torch.manual_seed(0)
    norm = build(RMSNorm(eps=1e-12)).norm(4, "input", blocks=(2, 1)).double()
    a = torch.randn(5, 12, dtype=torch.float64) * torch.tensor([1.0, 10, 100]).repeat_interleave(4)
    for block in norm(a, 0).split([8, 4], 1):
        torch.testing.assert_close(block.square().mean(1), torch.ones(5, dtype=torch.float64), rtol=0, atol=1e-9)


def test_mean_square_is_computed_in_float32_at_least() -> None:
    norm = build(RMSNorm()).norm(512, "input")
    a = (1 + torch.arange(512) / 512).bfloat16().unsqueeze(0)
    normalized = norm(a, 0)
    assert normalized.dtype == torch.bfloat16
    exact = a.double() / a.double().square().mean().sqrt()
    torch.testing.assert_close(normalized.double(), exact, rtol=2**-8, atol=0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_output_and_gradients_equal_torch_bit_for_bit(scale: float) -> None:
    a, gain = scale * torch.randn(5, 40), torch.randn(40)
    found = []
    for normalized in (rms_normalized, lambda x, g, eps: functional.rms_norm(x, (40,), g, eps)):
        inputs = a.clone().requires_grad_(), gain.clone().requires_grad_()
        y = normalized(*inputs, 1e-5)
        (y * torch.arange(40.0)).sum().backward()  # type: ignore[no-untyped-call]
        found.append([y, *(i.grad for i in inputs)])
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*found, strict=True))
