"""Query-key normalization: Henry, Dachapally, Pawar, Chen 2020, arXiv:2010.04245.

Shapes: Q queries and K keys of D features, with any leading batch axes.
"""

import math

import torch
from torch import Tensor, nn

from normcore.norms.normalization import Normalization, at_least_float32, needs_float64
from normcore.spec.methods import query_key_norm as spec


class QueryKeyNorm(Normalization):
    """Query-key normalization: attention compares queries and keys by cosines instead of scaled dot products."""

    def __init__(self, options: spec.QueryKeyNorm) -> None:
        self.options = options

    def attention(self, size: int) -> nn.Module:
        return ScaledCosine(self.options.length, self.options.eps)


class ScaledCosine(nn.Module):
    """Attention logits g (q / |q|)' (k / |k|), with one trained g that starts at log2(L^2 - L), L being ``length``
    (section 2).

    |q| and |k| are computed in float32 at least.
    """

    def __init__(self, length: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.full((), math.log2(length**2 - length)))

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        cosine = self._unit(queries) @ self._unit(keys).mT  # (..., Q, K)
        return (self.weight * cosine).to(queries.dtype)

    def _unit(self, vectors: Tensor) -> Tensor:
        wide = at_least_float32(vectors)
        length: Tensor = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        if needs_float64(length.square()):
            wide = wide.double()
            length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        return (wide / length.clamp_min(self.eps)).to(vectors.dtype)
