"""Base class of the norms of a model. It changes nothing: it is the method ``none``."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.spec.models.model import Place

BiasPlace = Literal["outside", "inside", "both"]
Size = Callable[[], Tensor]  # (F), or (T, F); called by a norm that asks


class Normalization:
    """Norms that a method puts at the places of a model. A subclass overrides those answers in which it differs from
    the method ``none``.

    Attributes:
        bias: where the cell's bias enters: outside the norms, inside the input's norm (or the sum's, if the cell
            normalizes that), or the same bias in both places.
        bias_init: half the width of the uniform distribution that is added to the cell's initial bias.
        carries_normalized_cell: whether an LSTM carries on the cell as ``norm_c`` leaves it.
        initial_state_noise: standard deviation of the noise added to the first hidden state.
    """

    bias: BiasPlace = "outside"
    bias_init: float = 0.0
    carries_normalized_cell: bool = False
    initial_state_noise: float = 0.0

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        """The module that normalizes what is at ``site``, of hidden_size * sum(blocks) features.

        It is called as ``norm(a, t, mask, size)`` with ``a`` of shape (B, features) at step t, or (T, B, features) at
        the steps t, t + 1, ...; it keeps shape and dtype. ``mask`` (T, B) is true where there is input, or None if
        there is everywhere; it comes with the input's term alone. ``size`` tells how large the products are that were
        added up to ``a``; None at the cell, which is no product.

        Args:
            blocks: which gates the paper takes together, in units of ``hidden_size``: (4,) for an LSTM's four, (2, 1)
                for a GRU's, whose candidate goes by itself.
        """
        return Shift(hidden_size) if site == "cell" else Identity()

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        """The module that normalizes the summed inputs of a feed-forward layer of ``shape`` (F), or of a
        convolutional one of shape (C, H, W). It is called with (B, *shape) and keeps shape and dtype.
        """
        return nn.Identity()

    def attention(self, size: int) -> nn.Module:
        """The module that compares queries (..., Q, size) with keys (..., K, size): logits (..., Q, K) of a dot-product
        attention, before its softmax. It is called as ``logits(queries, keys)``.
        """
        return ScaledDotProduct(size)

    def initialized_from_data(self, model: nn.Module) -> AbstractContextManager[None]:
        """Inside, the first forward pass over training data decides the model's initial weights; for methods that say
        ``initializes_from_data``."""
        return nullcontext()

    def parametrize(self, module: nn.Module, *matrices: str) -> None:
        """Give matrices of a cell or layer, whose rows make one summed input each, another parametrization."""


def whole(blocks: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of all blocks together: of one, its own; of a cell's gates, all their features."""
    return blocks[0] if len(blocks) == 1 else (sum(features for (features,) in blocks),)


def at_least_float32(a: Tensor) -> Tensor:
    """Cast to at least float32: statistics are always computed in that precision, also under autocast."""
    return a.to(torch.promote_types(a.dtype, torch.float32))


def needs_float64(squares: Tensor) -> bool:
    """Tell if mean squares or variances in float32 are infinite or NaN, or so large that autograd's gradient of
    ``rsqrt``, which takes its third power, loses digits. On a GPU the answer is always no, as asking would wait for
    the device.
    """
    if not squares.is_cpu or squares.dtype != torch.float32 or squares.numel() == 0:
        return False
    largest_exact = torch.finfo(torch.float32).tiny ** (-5 / 8)
    return not squares.detach().amax().item() < largest_exact


def normalized_product(
    norm: nn.Module, weight: Tensor, x: Tensor, t: int, mask: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """norm(W x + b), of weight (F, n) and x (B, n) at step t, or (T, B, n) at the steps t, t + 1, ...

    ``mask`` (T, B) is false where there is only padding; None if there is none.
    """
    a: Tensor = norm(functional.linear(x, weight, bias), t, mask, size_of_products(weight, x))
    return a


def normalized_sum(norm: nn.Module, a: Tensor, weight: Tensor, h: Tensor, t: int) -> Tensor:
    """norm(a) at step t, of a (B, F) that has the product W h in it, of weight (F, n) and h (B, n)."""
    normalized: Tensor = norm(a, t, size=size_of_products(weight, h))
    return normalized


def size_of_products(weight: Tensor, rows: Tensor) -> Size:
    """A bound of |w_1 h_1| + ... + |w_n h_n| for every feature and all examples: |w| |h|, of weight (F, n) and rows h
    (..., B, n). Whatever the order in which the products are added up, the sum's rounding is a few units in the last
    place of that.
    """
    return partial(_size_of_products, weight.detach(), rows.detach())


def _size_of_products(weight: Tensor, rows: Tensor) -> Tensor:
    largest: Tensor = torch.linalg.vector_norm(rows, dim=-1).amax(-1, keepdim=True)  # (..., 1)
    if needs_float64(largest.square()):
        largest = torch.linalg.vector_norm(rows, dim=-1, dtype=torch.float64).amax(-1, keepdim=True)
    lengths: Tensor = torch.linalg.vector_norm(weight, dim=1)
    return largest * lengths


class Identity(nn.Module):
    """a -> a."""

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        return a


class Shift(nn.Module):
    """a -> a + b.

    The baseline of Cooijmans et al. 2017 reads out h' = o tanh(c' + b_c); the bias is in their code, not in their
    text, and makes the baseline as expressive as the shift of a normalized cell does.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        return a + self.bias


class ScaledDotProduct(nn.Module):
    """q' k / sqrt(D): Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale = size**-0.5

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        logits: Tensor = self.scale * queries @ keys.mT
        return logits
