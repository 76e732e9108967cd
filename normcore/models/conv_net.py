"""The convolutional network of Salimans and Kingma 2016 (arXiv:1602.07868) for CIFAR-10, at any width.

Shapes: B images of C channels and H x W places.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.models.build import Build
from normcore.models.layers import NormalizedConv, NormalizedLinear
from normcore.spec.models import conv_net as spec

SLOPE = 0.1  # slope of leaky ReLU below 0


class ConvNet(nn.Module):
    """Convolutional network: stages of 3 x 3 convolutions with 2 x 2 max pooling and dropout, a head of three
    convolutions, the mean over all places, and a linear output.

    The channels in the paper's Table 3: 3 x 96, 3 x 192, then 192 (3 x 3, without padding), 192 and 192 (1 x 1).

    Deviation: dropout drops activations after pooling, as in the table; the model adds the noise to training images.
    """

    def __init__(self, build: Build, options: spec.ConvNet, shape: tuple[int, int, int], num_classes: int) -> None:
        super().__init__()
        self.input_noise = options.input_noise
        self.dropout = options.dropout
        self.stages = nn.ModuleList()
        for channels in options.stage_channels:
            stage = nn.ModuleList()
            for _ in range(options.stage_depth):
                stage.append(NormalizedConv(build, shape, channels))
                shape = (channels, *shape[1:])
            shape = (channels, shape[1] // 2, shape[2] // 2)
            self.stages.append(stage)
        valid = NormalizedConv(build, shape, options.head_channels, padding=0)
        pointwise = [NormalizedConv(build, valid.shape, options.head_channels, 1, padding=0) for _ in range(2)]
        self.head = nn.ModuleList([valid, *pointwise])
        self.output = NormalizedLinear(build, "output", options.head_channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits (B, classes) of images x (B, C, H, W)."""
        if self.training and self.input_noise:
            x = x + self.input_noise * torch.randn_like(x)
        for stage in self.stages:
            for layer in stage:  # type: ignore[attr-defined]
                x = functional.leaky_relu(layer(x), SLOPE)
            x = functional.dropout(functional.max_pool2d(x, 2), self.dropout, self.training)
        for layer in self.head:
            x = functional.leaky_relu(layer(x), SLOPE)
        logits: Tensor = self.output(x.mean((2, 3)))
        return logits
