"""Convolutional networks."""

from typing import Annotated, ClassVar

from pydantic import Field

from normcore.spec.models.model import Cost, Model, Place

Width = Annotated[int, Field(ge=1, le=4096)]


class ConvNet(Model):
    """The network of Salimans and Kingma 2016 for CIFAR-10 (arXiv:1602.07868, Table 3 of its appendix), at any width.

    A stage is some 3x3 convolutions, then 2x2 max pooling and dropout. After the stages come one 3x3 convolution
    without padding, two 1x1 convolutions, the mean over all positions, and a linear output. Activations are leaky ReLU
    of slope 0.1.
    """

    architecture: ClassVar[str] = "conv_net"
    places: ClassVar[frozenset[Place]] = frozenset({"layer", "output"})
    usual: ClassVar[tuple[Place, ...]] = ("layer",)
    has_images: ClassVar[bool] = True

    stage_channels: tuple[Width, ...] = Field(
        (96, 192), strict=False, min_length=1, max_length=4, description="Channels of each stage."
    )
    stage_depth: int = Field(3, ge=1, le=32, description="3x3 convolutions of a stage.")
    head_channels: int = Field(192, ge=1, le=4096, description="Channels of the last three convolutions.")
    dropout: float = Field(0.5, ge=0, lt=1, description="Share of activations that are dropped after each stage.")
    input_noise: float = Field(0.15, ge=0, description="Standard deviation of the noise added to training images.")

    def cost(self, shape: tuple[int, int, int], outputs: int) -> Cost:
        """Compute the cost of classifying a square image of ``shape`` (C, H, W) into ``outputs`` classes."""
        before, side, _ = shape
        parameters = products = 0
        kept = before * side**2

        def convolve(channels: int, size: int) -> None:
            nonlocal before, parameters, products, kept
            weights = before * channels * size**2
            parameters += weights + channels
            products += weights * side**2
            kept += channels * side**2
            before = channels

        for channels in self.stage_channels:
            for _ in range(self.stage_depth):
                convolve(channels, 3)
            side //= 2
        side -= 2
        for size in (3, 1, 1):
            convolve(self.head_channels, size)
        return Cost(parameters + (before + 1) * outputs, products + before * outputs, kept)

    @property
    def channels(self) -> tuple[int, ...]:
        return (*self.stage_channels, self.head_channels)
