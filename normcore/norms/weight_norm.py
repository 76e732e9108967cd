"""Weight normalization: Salimans, Kingma 2016, arXiv:1602.07868.

Shapes: O rows of a matrix, I columns.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normcore.norms.batch_norm import per_channel
from normcore.norms.batch_statistics import BatchStatistics, require_examples
from normcore.norms.normalization import Normalization, Size, at_least_float32, lengths_need_float64
from normcore.spec.methods import weight_norm as spec
from normcore.spec.models.model import Place


class WeightNorm(Normalization):
    """Weight normalization: every row of W_x and W_h is parametrized by a length and a direction.

    Lengths are ``parametrizations.<matrix>.original0``, directions ``.original1``, as torch names them. Each length
    starts as the length of the row that the cell drew, so the first forward pass is the same as in the baseline. The
    authors' initialization from data, ``initialize_in_first_pass``, is for layers whose inputs are data, not states.
    """

    def __init__(self, options: spec.WeightNorm) -> None:
        self.options = options

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        if not self.options.mean_only_batch_norm or site not in ("input", "recurrent"):
            return super().norm(hidden_size, site)
        return MeanOnlyBatchNormAtSite(hidden_size * sum(blocks))

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return MeanOnlyBatchNormLayer(shape) if self.options.mean_only_batch_norm else super().layer(shape)

    def initialize_in_first_pass(self, model: nn.Module) -> AbstractContextManager[None]:
        return initialize_in_first_pass(model)

    def parametrize(self, module: nn.Module, *matrices: str) -> None:
        for matrix in matrices:
            parametrize.register_parametrization(module, matrix, LengthAndDirection(), unsafe=True)


class MeanOnlyBatchNormAtSite(BatchStatistics):
    """Mean-only batch norm in a cell: a - mean_t, with the mean over the examples at every step t (Salimans and Kingma,
    section 4). The shift is the cell's bias.

    Deviation: evaluation uses the population's mean, from a separate pass over the training data, as all batch norms
    here do; the paper keeps a running average.
    """

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        if self.takes_batch:
            require_examples(a.shape[-2])
            mean = wide.mean(-2)  # (F) or (T, F)
            if self.wants_statistics:
                means = mean.detach().view(-1, a.shape[-1])
                self.saw(means, torch.zeros_like(means))
        else:
            steps = len(a) if a.dim() == 3 else 1
            mean = self.population(t, steps)[0].view(*a.shape[:-2], a.shape[-1])
        return (wide - mean.unsqueeze(-2)).to(a.dtype)


class MeanOnlyBatchNormLayer(BatchStatistics):
    """Mean-only batch norm of a layer: a - mean + bias. The mean of a feature is over the examples; the mean of a
    channel is over examples and places."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape[0])
        self.bias = nn.Parameter(torch.zeros(shape[0]))

    def forward(self, a: Tensor) -> Tensor:
        wide = at_least_float32(a)
        if self.takes_batch:
            require_examples(a.numel() // a.shape[1])
            mean = wide.mean([axis for axis in range(a.dim()) if axis != 1])
            if self.wants_statistics:
                self.take_in(torch.stack([mean, torch.zeros_like(mean)]).detach().unsqueeze(1))
        else:
            mean = self.population(0, 1)[0][0]
        return (wide + per_channel(self.bias - mean, a)).to(a.dtype)


@contextmanager
def initialize_in_first_pass(model: nn.Module) -> Iterator[None]:
    """Initialize layers from data, for methods with ``init: data``. Inside this context, the first forward pass
    initializes every layer whose weight has a length and a direction, from the layer's own input, the first layer
    first.
    """
    hooks = [
        layer.register_forward_pre_hook(lambda layer, inputs: initialize_from_data_(layer, inputs[0]))
        for layer in model.modules()
        if isinstance(layer, nn.Linear | nn.Conv2d) and _has_length_and_direction(layer)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def initialize_from_data_(layer: nn.Linear | nn.Conv2d, x: Tensor) -> None:
    """Initialize a layer so that its summed inputs of a first batch x (B, ...) have mean 0 and variance 1 (Salimans and
    Kingma, Eq. 5-6).

    v is drawn from N(0, 0.05^2). Then g = 1 / std and b = -mean / std, with mean and std of v x / |v| over the examples
    and places. A layer without a bias only gets v and g, because the mean is subtracted after the layer.

    Raises:
        ValueError: the layer's weight is not parametrized by length and direction, or the summed inputs of a unit are
            all equal.
    """
    if not _has_length_and_direction(layer):
        raise ValueError(
            f"expected a layer whose weight is parametrized by length and direction, received {layer};"
            " call WeightNorm.parametrize on it"
        )
    weight: Any = layer.parametrizations.weight  # type: ignore[union-attr]
    weight.original1.normal_(0, 0.05)
    weight.original0.fill_(1)
    if layer.bias is not None:
        layer.bias.zero_()
    t = layer.forward(x)
    require_examples(t.numel() // t.shape[1])
    std, mean = torch.std_mean(t, [axis for axis in range(t.dim()) if axis != 1], correction=0)
    constant = int((std == 0).sum())
    if constant:
        raise ValueError(f"expected summed inputs that differ, received equal ones for {constant} units; use other x")
    weight.original0.copy_((1 / std).view_as(weight.original0))
    if layer.bias is not None:
        layer.bias.copy_(-mean / std)


def _has_length_and_direction(layer: nn.Module) -> bool:
    return parametrize.is_parametrized(layer, "weight") and hasattr(layer.parametrizations.weight, "original1")  # type: ignore[union-attr]


class LengthAndDirection(nn.Module):
    """Weight from lengths g and directions v: w = g v / |v| for every row (Salimans and Kingma, Eq. 2).

    ``torch.nn.utils.parametrizations.weight_norm`` computes the same; its second derivatives are wrong in torch 2.13.
    """

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        """Compute w from g and v: g (O, 1), v (O, I) -> w (O, I); for a convolution g (O, 1, 1, 1), v (O, I, h, w)."""
        length = _length(v)
        if lengths_need_float64(length):
            return self.forward(g.double(), v.double()).to(v.dtype)
        return g * v / length

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the lengths and directions of the rows of ``weight``. A row of zeros has length 0 and an arbitrary
        direction."""
        length = _length(weight)
        if lengths_need_float64(length):
            length = _length(weight.double()).to(weight.dtype)
        return length, torch.where(length == 0, 1.0, weight)


def _length(rows: Tensor) -> Tensor:
    length: Tensor = rows.flatten(1).norm(dim=1).view(-1, *[1] * (rows.dim() - 1))
    return length
