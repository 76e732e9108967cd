"""Layer normalization: Ba, Kiros, Hinton 2016, arXiv:1607.06450v1.

Shapes: T steps, B examples, F features; a layer's units (F) or (C, H, W).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from normcore.norms.normalization import Normalization, Size, at_least_float32, needs_float64, whole
from normcore.spec.methods import layer_norm as spec
from normcore.spec.models.model import Place


class LayerNorm(Normalization):
    """Layer normalization: LN(a) = weight (a - mean) / sqrt(var + eps) + bias at every site, LN Eq. 15-16.

    Every norm has a gain and a shift. Only the norm of the sum has no shift: the cell's own bias is its shift.

    The gain starts at 1 and the shift at 0, as in LN section 6 and the authors' code; the appendix prints the two
    values the other way round.
    """

    def __init__(self, options: spec.LayerNorm) -> None:
        self.bias = options.bias
        self.bias_init = options.bias_init
        self.options = options

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        options = self.options
        if site not in options.sites:
            return super().norm(hidden_size, site)
        together = blocks if options.scope == "joint" else (1,) * sum(blocks)
        shapes = [(hidden_size * block,) for block in together]
        return LayerNormalized(shapes, whole(shapes), options, shift=site != "sum")

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        per_channel = (shape[0], *[1] * (len(shape) - 1))
        return LayerNormalized([shape], shape if self.options.conv_gain == "per_unit" else per_channel, self.options)


class LayerNormalized(nn.Module):
    """Layer norm: weight (a - mean) / sqrt(var + eps) + bias, with mean and biased variance over a block's features of
    one example: LN Eq. 3.

    The Theano code of the authors has eps inside the root, their Torch code has eps outside.

    Args:
        blocks: shapes of the blocks that have statistics of their own: (F) for gates of a cell; (F) or (C, H, W) for a
            whole layer.
        parameters: shape of the gain and the shift: all features, or (C, 1, 1) for one gain and shift per channel.
        options: options of the method; without ``affine`` there is neither gain nor shift.
    """

    def __init__(
        self,
        blocks: Sequence[tuple[int, ...]],
        parameters: tuple[int, ...],
        options: spec.LayerNorm,
        shift: bool = True,
    ) -> None:
        super().__init__()
        self.blocks = blocks
        self.eps = options.eps
        self.weight = nn.Parameter(torch.full(parameters, options.gain_init)) if options.affine else None
        self.bias = nn.Parameter(torch.zeros(parameters)) if options.affine and shift else None

    def forward(self, a: Tensor, t: int = 0, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        if len(self.blocks) > 1:
            return self._gate_by_gate(wide).to(a.dtype)
        [shape] = self.blocks
        if self.weight is None or self.weight.shape == shape:
            return layer_normalized(wide, shape, self.weight, self.bias, self.eps).to(a.dtype)
        normalized = self.weight * layer_normalized(wide, shape, None, None, self.eps)
        return (normalized if self.bias is None else normalized + self.bias).to(a.dtype)

    def _gate_by_gate(self, a: Tensor) -> Tensor:
        sizes = [features for (features,) in self.blocks]
        gains = [None] * len(sizes) if self.weight is None else self.weight.split_with_sizes(sizes)
        shifts = [None] * len(sizes) if self.bias is None else self.bias.split_with_sizes(sizes)
        gates = zip(a.split_with_sizes(sizes, -1), gains, shifts, strict=True)
        return torch.cat([layer_normalized(x, x.shape[-1:], g, b, self.eps) for x, g, b in gates], -1)


def layer_normalized(
    a: Tensor, shape: tuple[int, ...], gain: Tensor | None, shift: Tensor | None, eps: float
) -> Tensor:
    """Compute ``torch.nn.functional.layer_norm`` in the type of ``a``, in float64 if squares leave its range."""
    gain, shift = (None if p is None else p.to(a.dtype) for p in (gain, shift))
    y, _, inverse_root = torch.native_layer_norm(a, shape, gain, shift, eps)
    if needs_float64(inverse_root.detach() ** -2):
        gain, shift = (None if p is None else p.double() for p in (gain, shift))
        y, *_ = torch.native_layer_norm(a.double(), shape, gain, shift, eps)
    return y
