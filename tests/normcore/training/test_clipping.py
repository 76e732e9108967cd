"""Gradients are scaled to the norm that the spec allows, all together or each separately."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from normcore.spec.optimizers.adam import Adam
from normcore.spec.training import Training
from normcore.training.clipping import clip_, largest_entry, norm_of, shorten_

GRADIENTS = {"a": [[3.0, -4.0], [0.0, 12.0]], "b": [0.03, 0.04], "c": [-6.0, 0.0, 8.0]}
NORMS = {"a": 13.0, "b": 0.05, "c": 10.0}
TOTAL = (13.0**2 + 0.05**2 + 10.0**2) ** 0.5
TORCHS = 1e-6  # torch adds this to the norm before it divides


def model() -> nn.Module:
    made = nn.ParameterDict({name: torch.zeros_like(torch.tensor(g)).double() for name, g in GRADIENTS.items()})
    made["unused"] = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    for name, gradient in GRADIENTS.items():
        made[name].grad = torch.tensor(gradient, dtype=torch.float64)
    return made


def training(**options: Any) -> Training:
    return Training(optimizer=Adam(), batch_size=1, max_steps=1, eval_every=1, target=None, **options)


def clipped(**options: Any) -> tuple[float, dict[str, Any]]:
    given = model()
    norm = clip_(given, training(**options))
    assert next(p for n, p in given.named_parameters() if n == "unused").grad is None
    return norm.item(), {n: p.grad.numpy() for n, p in given.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("clip", ["global", "per_tensor", "global_root"])
def test_without_a_bound_nothing_changes(clip: str) -> None:
    norm, gradients = clipped(clip_norm=None, clip=clip)
    assert norm == pytest.approx(TOTAL, rel=1e-12)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, GRADIENTS[name])


def test_all_gradients_together_are_scaled_by_one_factor() -> None:
    norm, gradients = clipped(clip_norm=2.0)
    assert norm == pytest.approx(TOTAL, rel=1e-12), "the norm before"
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, 2.0 / (TOTAL + TORCHS) * np.array(GRADIENTS[name]), rtol=1e-12)
    total = np.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
    assert total == pytest.approx(2.0, rel=1e-6)


def test_each_gradient_by_itself_is_scaled_to_the_bound() -> None:
    norm, gradients = clipped(clip_norm=2.0, clip="per_tensor")
    assert norm == pytest.approx(TOTAL, rel=1e-12), "the norm before, of all together"
    for name, gradient in gradients.items():
        factor = min(2.0 / (NORMS[name] + TORCHS), 1)
        np.testing.assert_allclose(gradient, factor * np.array(GRADIENTS[name]), rtol=1e-12)
    assert np.linalg.norm(gradients["a"]) == pytest.approx(2.0, rel=1e-6)
    np.testing.assert_array_equal(gradients["b"], GRADIENTS["b"])  # a small gradient is unchanged


def test_legacy_clipping_of_the_reader_keeps_norms_below_the_square_of_the_bound() -> None:
    """The authors' code compares the norm with 100 instead of 10, and divides by the root of the norm."""
    norm, gradients = clipped(clip_norm=4.0, clip="global_root")
    assert norm == pytest.approx(TOTAL, rel=1e-12)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, 4.0 / np.sqrt(TOTAL) * np.array(GRADIENTS[name]), rtol=1e-12)
    _, gradients = clipped(clip_norm=4.1, clip="global_root")
    assert 4.1 < TOTAL < 4.1**2
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, GRADIENTS[name])


@pytest.mark.parametrize("clip", ["global", "per_tensor", "global_root"])
def test_gradients_below_the_bound_are_unchanged(clip: str) -> None:
    _, gradients = clipped(clip_norm=20.0, clip=clip)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, GRADIENTS[name])


SQUARES_OVERFLOW = {
    torch.bfloat16: [3e25, -4e25, 1e30, 3e38],
    torch.float32: [3e25, -4e25, 1e30, 3e38, 3e38],
    torch.float64: [3e190, -4e190, 1e300],
}
SQUARES_UNDERFLOW = {
    torch.bfloat16: [3e-25, 4e-25, 1e-30],
    torch.float32: [3e-25, 4e-25, 1e-30],
    torch.float64: [3e-190, 4e-190, 1e-200],
}


def clipped_exactly(entries: list[float], dtype: torch.dtype, clip: Any, bound: float) -> tuple[list[float], float]:
    """Compute the result of ``clip_`` on gradients of one entry each, and their norm, with Python's exact numbers."""
    given = [torch.tensor(entry, dtype=dtype).item() for entry in entries]
    norm = math.hypot(*given)
    if clip == "per_tensor":
        return [entry * min(bound / (abs(entry) + TORCHS), 1) for entry in given], norm
    if clip == "global_root":
        return [entry * (bound / math.sqrt(norm) if norm > bound**2 else 1) for entry in given], norm
    return [entry * min(bound / (norm + TORCHS), 1) for entry in given], norm


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("clip", ["global", "per_tensor", "global_root"])
@pytest.mark.parametrize("entries", [SQUARES_OVERFLOW, SQUARES_UNDERFLOW], ids=["large", "small"])
@pytest.mark.parametrize("bound", [1.0, 1e-3], ids=str)
def test_gradients_whose_squares_overflow_or_underflow_are_clipped(
    entries: dict[torch.dtype, list[float]], clip: Any, dtype: torch.dtype, bound: float
) -> None:
    made = nn.ParameterList([torch.zeros(1, dtype=dtype) for _ in entries[dtype]])
    for parameter, entry in zip(made, entries[dtype], strict=True):
        parameter.grad = torch.tensor([entry], dtype=dtype)
    wanted, length = clipped_exactly(entries[dtype], dtype, clip, bound)
    norm = clip_(made, training(clip_norm=bound, clip=clip))
    near = 4 * torch.finfo(dtype).eps
    assert norm.item() == pytest.approx(length, rel=near, abs=0)
    for parameter, expected in zip(made, wanted, strict=True):
        assert parameter.grad is not None
        assert parameter.grad.item() == pytest.approx(expected, rel=near, abs=torch.finfo(dtype).tiny)


def test_norm_of_zeros_and_of_an_empty_list_is_zero() -> None:
    assert (
        norm_of([]).item() == norm_of([torch.zeros(0)]).item() == norm_of([torch.zeros(3), torch.zeros(0)]).item() == 0
    )


@pytest.mark.parametrize("entry", [float("inf"), float("nan")])
def test_norm_of_gradients_that_are_not_finite_is_not_finite(entry: float) -> None:
    assert not norm_of([torch.tensor([1e30, entry]), torch.ones(2)]).isfinite()


@pytest.mark.parametrize(("clip", "largest"), [("global", 2.0), ("per_tensor", 2.0), ("global_root", 9.0)])
def test_largest_entry_of_clipped_gradients_is_bounded_by_the_clip_norm(clip: Any, largest: float) -> None:
    norm = torch.tensor(9.0)
    assert largest_entry(training(clip_norm=2.0, clip=clip), norm) == largest
    assert (
        largest_entry(training(clip_norm=10.0, clip=clip), norm) == largest_entry(training(clip_norm=None), norm) == 9
    )


@pytest.mark.parametrize("scale", [1e-14, 1.0, 1e13])
def test_ordinary_norm_equals_torch_bit_for_bit(scale: float) -> None:
    gradients = [scale * torch.randn(7, 5, generator=torch.Generator().manual_seed(n)) for n in range(3)]
    theirs = [torch.zeros(7, 5).requires_grad_() for _ in gradients]
    for parameter, gradient in zip(theirs, gradients, strict=True):
        parameter.grad = gradient.clone()
    assert torch.equal(clip_grad_norm_(theirs, 0.5 * scale), shorten_(gradients, 0.5 * scale))
    for parameter, ours in zip(theirs, gradients, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, ours)
