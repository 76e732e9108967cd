"""Query-key normalization against its equation."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from normcore.norms import build
from normcore.spec.methods.none import NoNorm
from normcore.spec.methods.query_key_norm import QueryKeyNorm


def queries_and_keys(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 3, 5, dtype=dtype), torch.randn(2, 4, 5, dtype=dtype)


def logits(length: int = 100) -> nn.Module:
    return build(QueryKeyNorm(length=length)).attention(5).double()


def test_output_is_the_equation() -> None:
    q, k = queries_and_keys()
    measured = logits(length=50)(q, k).detach().numpy()
    assert measured.shape == (2, 3, 4)
    for b, i, j in np.ndindex(2, 3, 4):
        cosine = q[b, i].numpy() @ k[b, j].numpy() / math.sqrt((q[b, i] ** 2).sum() * (k[b, j] ** 2).sum())
        assert measured[b, i, j] == pytest.approx(np.float32(math.log2(50**2 - 50)) * cosine, rel=1e-12)


def test_lengths_of_queries_and_keys_do_not_change_the_output() -> None:
    q, k = queries_and_keys()
    comparing = logits()
    torch.testing.assert_close(comparing(7 * q, k / 3), comparing(q, k), rtol=1e-12, atol=0)
    assert comparing(q, k).abs().max() <= comparing.weight


def test_gradients_agree_with_finite_differences() -> None:
    q, k = queries_and_keys()
    assert torch.autograd.gradcheck(logits(), (q.requires_grad_(), k.requires_grad_()))
    assert torch.autograd.gradgradcheck(logits(), (q, k))


def test_query_of_length_0_gives_zero_scores() -> None:
    q, k = queries_and_keys()
    assert not logits()(0 * q, k).any()


def test_lengths_are_computed_in_float32_at_least() -> None:
    """The sum of 512 ones needs float32: bfloat16 cannot count beyond 256."""
    ones = torch.ones(1, 512).bfloat16()
    comparing = build(QueryKeyNorm(length=2)).attention(512)  # the gain is log2(2) = 1
    assert comparing(ones, ones).item() == pytest.approx(1, abs=0.01)
    assert comparing(ones, ones).dtype == torch.bfloat16


def test_methods_without_attention_keep_the_scaled_dot_product() -> None:
    q, k = queries_and_keys()
    expected = np.einsum("bqd,bkd->bqk", q.numpy(), k.numpy()) / math.sqrt(5)
    np.testing.assert_allclose(build(NoNorm()).attention(5)(q, k).numpy(), expected, rtol=1e-12)
