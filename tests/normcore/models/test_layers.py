"""Places of a layer's norm and bias."""

from typing import Any

import pytest
import torch
from torch import nn

from normcore.models.build import Build
from normcore.models.layers import NormalizedConv, NormalizedLinear
from normcore.spec.methods import METHODS
from normcore.spec.models.conv_net import ConvNet
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.model import Place

CPU = torch.device("cpu")


def build(tag: str, **options: Any) -> Build:
    kind = METHODS[tag]
    norm = kind.model_validate({**kind.defaults(FeedForward), **options})
    return Build(ConvNet(), norm, "auto", CPU, torch.float32)


@pytest.mark.parametrize(("place", "normalized"), [("layer", True), ("output", False)])
def test_method_stands_at_its_sites(place: Place, normalized: bool) -> None:
    layer = NormalizedLinear(build("layer_norm"), place, 4, 3)
    assert isinstance(layer.norm, nn.Identity) != normalized
    assert (layer.linear.bias is None) == normalized


def test_method_without_sites_stands_at_every_place() -> None:
    places: tuple[Place, ...] = ("layer", "output")
    for place in places:
        layer = NormalizedLinear(build("weight_norm"), place, 4, 3)
        assert dict(layer.named_parameters()).keys() == {
            "linear.bias",
            "linear.parametrizations.weight.original0",
            "linear.parametrizations.weight.original1",
        }


@pytest.mark.parametrize(
    ("tag", "options", "biases"),
    [
        ("none", {}, {"linear.bias"}),
        ("layer_norm", {}, {"norm.bias"}),
        ("layer_norm", {"affine": False}, {"bias"}),
        ("rms_norm", {}, {"bias"}),
        ("dynamic_tanh", {}, {"norm.bias"}),
        ("batch_norm", {}, {"norm.bias"}),
        ("group_norm", {"groups": 3}, {"norm.bias"}),
        ("weight_norm", {}, {"linear.bias"}),
        ("weight_norm", {"mean_only_batch_norm": True}, {"norm.bias"}),
    ],
)
def test_every_layer_has_exactly_one_bias(tag: str, options: dict[str, Any], biases: set[str]) -> None:
    linear = NormalizedLinear(build(tag, **options), "layer", 4, 3)
    assert {name for name, _ in linear.named_parameters() if name.endswith("bias")} == biases
    conv = NormalizedConv(build(tag, **options), (2, 6, 5), 3)
    convs = {name.replace("linear", "conv") for name in biases}
    assert {name for name, _ in conv.named_parameters() if name.endswith("bias")} == convs


@pytest.mark.parametrize(
    ("kernel_size", "padding", "shape"), [(3, 1, (4, 6, 5)), (3, 0, (4, 4, 3)), (1, 0, (4, 6, 5)), (5, 1, (4, 4, 3))]
)
def test_convolution_has_the_shape_of_its_output(kernel_size: int, padding: int, shape: tuple[int, ...]) -> None:
    layer = NormalizedConv(build("layer_norm"), (2, 6, 5), 4, kernel_size, padding)
    assert layer.shape == shape
    assert layer(torch.randn(7, 2, 6, 5)).shape == (7, *shape)


def test_gains_have_one_value_per_unit_or_per_channel() -> None:
    shapes = [(6, 5), (1, 1)]
    for gain, rest in zip(("per_unit", "per_channel"), shapes, strict=True):
        norm = NormalizedConv(build("layer_norm", conv_gain=gain), (2, 6, 5), 4).norm
        assert [p.shape for p in norm.parameters()] == [(4, *rest)] * 2


def test_a_layer_starts_with_normal_weights_of_variance_2_over_its_inputs() -> None:
    torch.manual_seed(0)
    conv = NormalizedConv(build("none"), (16, 8, 8), 64)
    assert conv.conv.weight.std().item() == pytest.approx((2 / (16 * 9)) ** 0.5, rel=0.02)
    assert conv.conv.bias is not None
    assert not conv.conv.bias.any()
