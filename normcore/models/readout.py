"""The linear map from states to logits."""

from torch import nn


def orthogonal_readout(in_features: int, out_features: int) -> nn.Linear:
    """Make a linear layer with orthogonal weight and zero bias, as in the RBN authors' code."""
    readout = nn.Linear(in_features, out_features)
    nn.init.orthogonal_(readout.weight)
    nn.init.zeros_(readout.bias)
    return readout
