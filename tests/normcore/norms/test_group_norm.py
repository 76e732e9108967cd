import pytest
import torch

from normcore.norms import build
from normcore.spec.methods.group_norm import GroupNorm
from normcore.spec.methods.layer_norm import LayerNorm


def test_output_is_the_equation() -> None:
    torch.manual_seed(0)
    norm = build(GroupNorm(groups=2, eps=1e-3, gain_init=0.5)).layer((4, 3, 2)).double()
    a = torch.randn(2, 4, 3, 2, dtype=torch.float64)
    for n in range(2):
        for group in (slice(0, 2), slice(2, 4)):
            values = a[n, group].flatten().tolist()
            mean = sum(values) / 12
            var = sum((value - mean) ** 2 for value in values) / 12
            expected = 0.5 * (a[n, group] - mean) / (var + 1e-3) ** 0.5
            torch.testing.assert_close(norm(a)[n, group], expected, rtol=0, atol=1e-12)


def test_single_group_is_layer_norm_over_channels_and_places() -> None:
    torch.manual_seed(0)
    a = torch.randn(2, 4, 3, 2)
    whole = build(LayerNorm(conv_gain="per_channel")).layer((4, 3, 2))
    torch.testing.assert_close(build(GroupNorm(groups=1)).layer((4, 3, 2))(a), whole(a))


def test_channels_that_groups_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="expected channels that make 3 equal groups, received 4"):
        build(GroupNorm(groups=3)).layer((4, 3, 2))
