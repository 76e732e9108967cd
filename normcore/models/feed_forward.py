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
    """Fully connected network: a = norm(W x) + b; h = max(a, 0) for each hidden layer; logits = norm(W h) + b.

    In LN section 6.6, layer norm is only at the hidden layers; batch norm is at the output layer, too. Weights start
    as in He et al. 2015, biases at 0; LN does not say how they start.
    """

    def __init__(self, build: Build, options: spec.FeedForward, input_size: int, num_classes: int) -> None:
        super().__init__()
        sizes = (input_size, *options.hidden_sizes)
        self.layers = nn.ModuleList(
            NormalizedLinear(build, "layer", before, after) for before, after in pairwise(sizes)
        )
        self.output = NormalizedLinear(build, "output", sizes[-1], num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits (B, C) of x (B, ...), which is flattened to vectors of F numbers."""
        h = x.flatten(1)
        for layer in self.layers:
            h = functional.relu(layer(h))
        logits: Tensor = self.output(h)
        return logits
