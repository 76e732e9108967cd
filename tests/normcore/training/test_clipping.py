"""Gradients are scaled to the norm that the spec allows, all together or each by itself."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from normcore.spec.optimizers.adam import Adam
from normcore.spec.training import Training
from normcore.training.clipping import clip_

GRADIENTS = {"a": [[3.0, -4.0], [0.0, 12.0]], "b": [0.03, 0.04], "c": [-6.0, 0.0, 8.0]}
NORMS = {"a": 13.0, "b": 0.05, "c": 10.0}
TOTAL = (13.0**2 + 0.05**2 + 10.0**2) ** 0.5
TORCHS = 1e-6  # which torch adds to the norm that it divides by


def model() -> nn.Module:
    made = nn.ParameterDict({name: torch.zeros_like(torch.tensor(g)).double() for name, g in GRADIENTS.items()})
    made["unused"] = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    for name, gradient in GRADIENTS.items():
        made[name].grad = torch.tensor(gradient, dtype=torch.float64)
    return made


def clipped(**options: Any) -> tuple[float, dict[str, Any]]:
    training = Training(optimizer=Adam(), batch_size=1, max_steps=1, eval_every=1, target=None, **options)
    given = model()
    norm = clip_(given, training)
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
    np.testing.assert_array_equal(gradients["b"], GRADIENTS["b"])  # small ones stay


def test_the_readers_legacy_clipping_leaves_what_is_below_the_bounds_square() -> None:
    """Their code compares the norm with 100, where 10 is meant, and divides by the norm's root."""
    norm, gradients = clipped(clip_norm=4.0, clip="global_root")
    assert norm == pytest.approx(TOTAL, rel=1e-12)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, 4.0 / np.sqrt(TOTAL) * np.array(GRADIENTS[name]), rtol=1e-12)
    _, gradients = clipped(clip_norm=4.1, clip="global_root")
    assert 4.1 < TOTAL < 4.1**2
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, GRADIENTS[name])


@pytest.mark.parametrize("clip", ["global", "per_tensor", "global_root"])
def test_what_is_below_the_bound_stays(clip: str) -> None:
    _, gradients = clipped(clip_norm=20.0, clip=clip)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, GRADIENTS[name])
