"""Instance normalization: Ulyanov, Vedaldi, Lempitsky 2016, arXiv:1607.08022.

Shapes: B examples, C channels of H x W places.
"""

from torch import nn

from normcore.norms.group_norm import GroupNormLayer
from normcore.norms.normalization import Normalization
from normcore.spec.methods import instance_norm as spec


class InstanceNorm(Normalization):
    """Instance normalization: mean and variance of each channel of each example, over all places. It is group norm
    with one channel per group."""

    def __init__(self, options: spec.InstanceNorm) -> None:
        self.options = options

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        if len(shape) < 2:
            raise ValueError(
                f"expected channels with more than one place, received a layer of {shape[0]} units;"
                " use layer_norm or group_norm there"
            )
        return GroupNormLayer(shape, shape[0], self.options.gain_init, self.options.eps)
