"""The convolutional network has the shapes and parameters of the paper's table, and computes the equations."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from normcore.models.build import Build
from normcore.models.conv_net import ConvNet
from normcore.norms import build as build_norm
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models import conv_net as spec

Numbers = NDArray[np.float64]
CPU, EPS = torch.device("cpu"), 1e-5
CIFAR10 = (3, 32, 32)
PAPER = spec.ConvNet()
SMALL = spec.ConvNet(stage_channels=(3,), stage_depth=2, head_channels=4, dropout=0.0, input_noise=0.0)

# Salimans and Kingma 2016, Table 3: 3 x 3 convolutions of 96 and of 192 channels, three each; a head of one 3 x 3 and
# two 1 x 1 convolutions of 192; 10 outputs.
TABLE_3 = [(3, 96, 9), (96, 96, 9), (96, 96, 9), (96, 192, 9), (192, 192, 9), (192, 192, 9), (192, 192, 9)]
HEAD = [(192, 192, 1), (192, 192, 1)]
WEIGHTS = sum(inputs * outputs * places for inputs, outputs, places in TABLE_3 + HEAD) + 192 * 10
CHANNELS = 3 * 96 + 3 * 192 + 3 * 192
UNITS = 3 * 96 * 32 * 32 + 3 * 192 * 16 * 16 + 3 * 192 * 6 * 6
"""Units of all convolutional layers. The first two stages keep their 32 and 16 places a side; the head has 6."""


def method(tag: str, **options: Any) -> Method:
    kind = METHODS[tag]
    return kind.model_validate({**kind.defaults(spec.ConvNet), **options})


def network(
    norm: Method, options: spec.ConvNet = SMALL, shape: tuple[int, int, int] = (2, 8, 8), dtype: Any = torch.float64
) -> ConvNet:
    torch.manual_seed(0)
    return ConvNet(Build(options, norm, "auto", CPU, dtype), options, shape, 10).to(dtype)


def images(batch: int = 5) -> Tensor:
    return torch.randn(batch, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


COUNTS: list[tuple[Method, int]] = [
    (method("none"), WEIGHTS + CHANNELS + 10),
    (method("batch_norm"), WEIGHTS + 2 * CHANNELS + 10),
    (method("batch_norm", sites=["layer", "output"]), WEIGHTS + 2 * CHANNELS + 20),
    (method("group_norm"), WEIGHTS + 2 * CHANNELS + 10),
    (method("instance_norm"), WEIGHTS + 2 * CHANNELS + 10),
    (method("layer_norm"), WEIGHTS + 2 * UNITS + 10),
    (method("layer_norm", conv_gain="per_channel"), WEIGHTS + 2 * CHANNELS + 10),
    (method("rms_norm"), WEIGHTS + UNITS + CHANNELS + 10),
    (method("weight_norm"), WEIGHTS + 2 * CHANNELS + 20),
    (method("weight_norm", mean_only_batch_norm=True), WEIGHTS + 2 * CHANNELS + 20),
]


@pytest.mark.parametrize(("norm", "count"), COUNTS)
def test_the_paper_s_network_has_the_parameters_of_its_table(norm: Method, count: int) -> None:
    assert WEIGHTS + CHANNELS + 10 == 1_406_794, "about 1.4 million"
    with torch.device("meta"):
        model = ConvNet(Build(PAPER, norm, "auto", CPU, torch.float32), PAPER, CIFAR10, 10)
    assert sum(p.numel() for p in model.parameters()) == count


def test_the_shapes_of_every_layer_are_those_of_the_table() -> None:
    with torch.device("meta"):
        model = ConvNet(Build(PAPER, method("none"), "auto", CPU, torch.float32), PAPER, CIFAR10, 10).eval()
        shapes: list[tuple[int, ...]] = []
        for layer in model.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.register_forward_hook(lambda _layer, _x, a: shapes.append(tuple(a.shape[1:])))
        model(torch.empty(2, *CIFAR10))
    head = [(192, 6, 6)] * 3
    assert shapes == [*[(96, 32, 32)] * 3, *[(192, 16, 16)] * 3, *head, (10,)]
    built = [layer.shape for layer in [*model.stages[0], *model.stages[1], *model.head]]  # type: ignore[misc]
    assert built == shapes[:-1], "norms with a gain for each unit are built for these"


# -- the equations ---------------------------------------------------------------------------------


def convolved(x: Numbers, weight: Numbers, padding: int) -> Numbers:
    """Convolve x (B, C, H, W) with a weight (O, C, k, k), one sum at a time."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    k = weight.shape[2]
    rows, columns = x.shape[2] - k + 1, x.shape[3] - k + 1
    a = np.zeros((len(x), len(weight), rows, columns))
    for i in range(k):
        for j in range(k):
            a += np.einsum("bchw,oc->bohw", x[:, :, i : i + rows, j : j + columns], weight[:, :, i, j])
    return a


def pooled(x: Numbers) -> Numbers:
    batch, channels, height, width = x.shape
    largest: Numbers = x.reshape(batch, channels, height // 2, 2, width // 2, 2).max((3, 5))
    return largest


def over(axes: tuple[int, ...]) -> Any:
    return lambda a: (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + EPS)


def per_channel(values: Numbers) -> Numbers:
    return values.reshape(-1, 1, 1) if values.ndim == 1 else values


FORMULAS: list[tuple[Method, Any]] = [
    (method("none"), lambda a: a),
    (method("batch_norm"), over((0, 2, 3))),
    (method("layer_norm"), over((1, 2, 3))),
    (method("layer_norm", conv_gain="per_channel"), over((1, 2, 3))),
    (method("layer_norm", affine=False), over((1, 2, 3))),
    (method("instance_norm"), over((2, 3))),
    (method("group_norm", groups=1), over((1, 2, 3))),
    (method("rms_norm"), lambda a: a / np.sqrt((a**2).mean((1, 2, 3), keepdims=True) + EPS)),
    (method("weight_norm", mean_only_batch_norm=True), lambda a: a - a.mean((0, 2, 3), keepdims=True)),
]


@pytest.mark.parametrize(("norm", "formula"), FORMULAS)
def test_forward_pass_computes_the_equations(norm: Method, formula: Any) -> None:
    model = network(norm)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith("conv.weight") and "original" not in name:
                parameter.add_(torch.randn(parameter.shape, dtype=torch.float64) / 3)
    given = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    x = images().numpy()
    for layer, padding in (("stages.0.0", 1), ("stages.0.1", 1), ("head.0", 0), ("head.1", 0), ("head.2", 0)):
        weight = f"{layer}.conv.parametrizations.weight.original"
        if f"{weight}0" in given:
            v = given[f"{weight}1"]
            w = given[f"{weight}0"] * v / np.sqrt((v**2).sum((1, 2, 3), keepdims=True))
        else:
            w = given[f"{layer}.conv.weight"]
        a = convolved(x, w, padding)
        if f"{layer}.conv.bias" in given:
            a = a + per_channel(given[f"{layer}.conv.bias"])
        a = formula(a) * per_channel(given.get(f"{layer}.norm.weight", np.ones(1)))
        for shift in (f"{layer}.norm.bias", f"{layer}.bias"):
            a = a + per_channel(given.get(shift, np.zeros(1)))
        x = np.where(a > 0, a, 0.1 * a)
        if layer == "stages.0.1":
            x = pooled(x)
    output = "output.linear.parametrizations.weight.original"
    w = given.get("output.linear.weight", np.zeros(1))
    if f"{output}1" in given:
        v = given[f"{output}1"]
        w = given[f"{output}0"] * v / np.sqrt((v**2).sum(1, keepdims=True))
    logits = x.mean((2, 3)) @ w.T
    if "output.linear.bias" in given:
        logits = logits + given["output.linear.bias"]
    else:
        logits = logits - logits.mean(0) + given["output.norm.bias"]
    with torch.no_grad():
        np.testing.assert_allclose(model(images()).numpy(), logits, rtol=1e-10, atol=1e-12)


def test_initialization_from_data_gives_every_channel_mean_0_and_variance_1() -> None:
    model = network(method("weight_norm"))
    seen: list[Numbers] = []
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(lambda _layer, _x, a: seen.append(a.numpy()))
    with torch.no_grad(), build_norm(method("weight_norm")).initialize_in_first_pass(model.eval()):
        model(images(20))
    seen.clear()
    with torch.no_grad():
        model(images(20))
    assert len(seen) == 6
    for a in seen:
        axes = (0, 2, 3) if a.ndim == 4 else (0,)
        np.testing.assert_allclose(a.mean(axes), 0, atol=1e-12)
        np.testing.assert_allclose(a.var(axes), 1, rtol=1e-11)


# -- dropout and noise, in training only -----------------------------------------------------------


@pytest.mark.parametrize("option", [{"dropout": 0.5}, {"input_noise": 0.15}])
def test_dropout_and_noise_act_only_in_training(option: dict[str, float]) -> None:
    options = SMALL.model_copy(update=option)
    model, plain = network(method("none"), options), network(method("none"))
    x = images()
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(x), plain(x), rtol=0, atol=0)
        model.train()
        assert not torch.equal(model(x), model(x))


def test_the_noise_has_its_standard_deviation() -> None:
    model = network(method("none"), SMALL.model_copy(update={"input_noise": 0.3}))
    seen: list[Tensor] = []
    model.stages[0][0].register_forward_pre_hook(lambda _layer, x: seen.append(x[0]))  # type: ignore[index]
    x = images(100)
    torch.manual_seed(0)
    with torch.no_grad():
        model(x)
    assert (seen[0] - x).std().item() == pytest.approx(0.3, rel=0.02)


def test_dropout_drops_its_share_after_pooling_and_scales_the_rest() -> None:
    model = network(method("none"), SMALL.model_copy(update={"dropout": 0.25}))
    seen: list[Tensor] = []
    model.head[0].register_forward_pre_hook(lambda _layer, x: seen.append(x[0]))
    x = images(50)
    with torch.no_grad():
        model.eval()(x)
        model.train()(x)
    whole, dropped = seen
    kept = dropped != 0
    assert kept.double().mean().item() == pytest.approx(0.75, abs=0.02)
    torch.testing.assert_close(dropped[kept], whole[kept] / 0.75)
