"""Products whose factors may be rounded."""

import torch
from torch import Tensor


def product(a: Tensor, b: Tensor, factors: torch.dtype) -> Tensor:
    """Multiply a (M, K) by b (K, N), both rounded to ``factors``. The sums are in float32; if ``factors`` is float64,
    in float64."""
    a, b = a.to(factors), b.to(factors)
    if factors in (torch.float32, torch.float64):
        return a @ b
    if a.is_cuda:
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()  # on the CPU, a product's precision is that of its factors
