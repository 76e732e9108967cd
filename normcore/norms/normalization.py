"""Base class of all methods. The base class itself changes nothing: it is the method ``none``."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.spec.models.model import Place

BiasPlace = Literal["outside", "inside", "both"]
Size = Callable[[], Tensor]  # returns (F), or (T, F); only norms that need the size call it
SHORT, LONG = 1e-11, 1e11  # lengths between them have squares that fit into float32, with all digits


class Normalization:
    """Base class of a method: it builds the norms that the method puts at the places of a model. A subclass overrides
    the attributes and functions in which the method differs from ``none``.

    Attributes:
        bias: where the cell's bias is added: after the norms (``outside``); before the norm of the input's term, or
            before the norm of the sum if the cell normalizes the sum (``inside``); or the same bias in both places.
        bias_init: the cell's initial bias gets uniform random numbers from -bias_init to bias_init.
        carries_normalized_cell: whether an LSTM carries the normalized cell ``norm_c(c')`` to the next step.
        initial_state_noise: standard deviation of the noise added to the first hidden state.
    """

    bias: BiasPlace = "outside"
    bias_init: float = 0.0
    carries_normalized_cell: bool = False
    initial_state_noise: float = 0.0

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        """Build the module that normalizes the hidden_size * sum(blocks) features at ``site``.

        The module is called as ``norm(a, t, mask, size)`` with ``a`` of shape (B, features) at step t, or
        (T, B, features) at the steps t, t + 1, ...; the result has the shape and dtype of ``a``. ``mask`` (T, B) is
        true where there is input; None means that there is no padding. Only the norm of the input's term gets a mask.
        ``size`` returns a bound of the products that were added up to ``a``; None at the cell, which is not a product.

        Args:
            blocks: gates that share statistics, in units of ``hidden_size``: (4,) for the four gates of an LSTM,
                (2, 1) for a GRU, whose candidate has statistics of its own.
        """
        return Shift(hidden_size) if site == "cell" else Identity()

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        """Build the module that normalizes the summed inputs of a layer: of ``shape`` (F) if the layer is
        feed-forward, (C, H, W) if it is convolutional. The module is called with (B, *shape) and keeps shape and dtype.
        """
        return nn.Identity()

    def attention(self, size: int) -> nn.Module:
        """Build the module that compares queries (..., Q, size) with keys (..., K, size). The module is called as
        ``logits(queries, keys)`` and returns the logits (..., Q, K) of an attention, before the softmax.
        """
        return ScaledDotProduct(size)

    def initialize_in_first_pass(self, model: nn.Module) -> AbstractContextManager[None]:
        """Return a context in which the first forward pass over training data sets the model's initial weights. It
        matters only for methods with ``initializes_from_data``."""
        return nullcontext()

    def parametrize(self, module: nn.Module, *matrices: str) -> None:
        """Change the parametrization of the named matrices of a cell or layer. Each row of such a matrix computes one
        summed input. By default nothing changes."""


def whole(blocks: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape of all blocks together: of a single block, the shape of that block; of several gates, the sum
    of their features."""
    return blocks[0] if len(blocks) == 1 else (sum(features for (features,) in blocks),)


def at_least_float32(a: Tensor) -> Tensor:
    """Cast to at least float32: statistics are always computed in that precision, also under autocast."""
    return a.to(torch.promote_types(a.dtype, torch.float32))


def needs_float64(squares: Tensor) -> bool:
    """Tell if float32 is too narrow for mean squares or variances: if a value is infinite or NaN, or so large that the
    gradient of ``rsqrt`` loses digits, because autograd computes the third power of ``rsqrt``. On a GPU the answer is
    always no, because reading the values would wait for the device.
    """
    if not squares.is_cpu or squares.dtype != torch.float32 or squares.numel() == 0:
        return False
    largest_exact = torch.finfo(torch.float32).tiny ** (-5 / 8)
    return not squares.detach().amax().item() < largest_exact


def lengths_need_float64(lengths: Tensor) -> bool:
    """Tell if float32 is too narrow for the squares that lengths of vectors are computed from: if a length is infinite
    or NaN, or so large or small that squares overflow or lose digits. On a GPU the answer is always no, as in
    ``needs_float64``."""
    if not lengths.is_cpu or lengths.dtype != torch.float32 or lengths.numel() == 0:
        return False
    least, greatest = lengths.detach().aminmax()
    return not (least.item() > SHORT and greatest.item() < LONG)


def normalized_product(
    norm: nn.Module, weight: Tensor, x: Tensor, t: int, mask: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """Compute norm(W x + b), with ``weight`` W (F, n) and x (B, n) at step t, or x (T, B, n) at the steps
    t, t + 1, ...

    ``mask`` (T, B) is false in the padding; None means that there is no padding.
    """
    a: Tensor = norm(functional.linear(x, weight, bias), t, mask, size_of_products(weight, x))
    return a


def normalized_sum(norm: nn.Module, a: Tensor, weight: Tensor, h: Tensor, t: int) -> Tensor:
    """Compute norm(a) at step t, where the sum a (B, F) contains the product W h of ``weight`` W (F, n) and
    h (B, n)."""
    normalized: Tensor = norm(a, t, size=size_of_products(weight, h))
    return normalized


def size_of_products(weight: Tensor, rows: Tensor) -> Size:
    """Return a function that computes a bound of |w_1 h_1| + ... + |w_n h_n| for every feature, valid for all examples:
    |w| |h|, with ``weight`` (F, n) and ``rows`` h (..., B, n). In any order of addition, the rounding error of the sum
    is a few units in the last place of this bound.
    """
    return partial(_size_of_products, weight.detach(), rows.detach())


def _size_of_products(weight: Tensor, rows: Tensor) -> Tensor:
    largest = _lengths(rows).amax(-1, keepdim=True)  # (..., 1)
    return largest * _lengths(weight)


def _lengths(rows: Tensor) -> Tensor:
    """Compute the lengths of rows (..., n): in float64 if squares leave the range of float32. Short rows do not change
    the dtype, because many inputs have rows of zeros."""
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    if not lengths_need_float64(lengths):
        return lengths
    exact: Tensor = torch.linalg.vector_norm(rows, dim=-1, dtype=torch.float64)
    all_fit = lengths.amax().item() < LONG
    return torch.where(lengths < SHORT, exact.to(lengths.dtype), lengths) if all_fit else exact


class Identity(nn.Module):
    """Norm that changes nothing: a -> a."""

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        return a


class Shift(nn.Module):
    """Norm that only adds a trained shift: a -> a + b.

    The baseline LSTM of Cooijmans et al. 2017 computes h' = o tanh(c' + b_c). The bias b_c is in their code, not in
    their text. It makes the baseline as expressive as an LSTM whose normalized cell has a shift.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        return a + self.bias


class ScaledDotProduct(nn.Module):
    """Attention logits q' k / sqrt(D): Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale = size**-0.5

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        logits: Tensor = self.scale * queries @ keys.mT
        return logits
