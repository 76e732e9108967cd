import pytest
import torch

from normcore.norms import build
from normcore.spec.methods.instance_norm import InstanceNorm


def test_each_channel_of_each_example_is_normalized_separately() -> None:
    torch.manual_seed(0)
    norm = build(InstanceNorm(eps=1e-3)).layer((3, 4, 2)).double()
    a = torch.randn(2, 3, 4, 2, dtype=torch.float64)
    mean, var = a.mean((2, 3), keepdim=True), a.var((2, 3), correction=0, keepdim=True)
    torch.testing.assert_close(norm(a), (a - mean) / (var + 1e-3).sqrt(), rtol=0, atol=1e-12)


def test_layer_of_units_is_refused() -> None:
    with pytest.raises(ValueError, match="received a layer of 6 units; use layer_norm or group_norm"):
        build(InstanceNorm()).layer((6,))
