"""Fully connected layers, each normalized before its ReLU (LN section 6.6).

Shapes: B examples, F inputs, C classes.
"""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional

from normcore.models.build import Build
from normcore.models.layers import NormalizedLinear
from normcore.spec.models import feed_forward as spec


class FeedForward(nn.Module):
    """a = norm(W x) + b; h = max(a, 0) for each hidden layer; logits = norm(W h) + b.

    LN section 6.6 has layer norm at the hidden layers alone, batch norm at the output layer, too. Weights start as He
    et al. 2015 say, biases at 0; the paper does not.
    """

    def __init__(self, build: Build, options: spec.FeedForward, input_size: int, num_classes: int) -> None:
        super().__init__()
        sizes = (input_size, *options.hidden_sizes)
        self.layers = nn.ModuleList(
            NormalizedLinear(build, "layer", before, after) for before, after in pairwise(sizes)
        )
        self.output = NormalizedLinear(build, "output", sizes[-1], num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C) of x (B, ...), read as vectors of F numbers."""
        h = x.flatten(1)
        for layer in self.layers:
            h = functional.relu(layer(h))
        logits: Tensor = self.output(h)
        return logits
