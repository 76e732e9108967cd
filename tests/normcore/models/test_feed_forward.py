"""The feed-forward network computes its equations, and has the number of parameters that follows from them."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from normcore.models.build import Build
from normcore.models.feed_forward import FeedForward
from normcore.norms import build as build_norm
from normcore.norms.population import population_statistics
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models import feed_forward as spec

Numbers = NDArray[np.float64]
CPU, EPS = torch.device("cpu"), 1e-5
B, INPUTS, CLASSES = 7, 6, 3
HIDDEN = (5, 4)
UNNORMALIZED = 784 * 1000 + 1000 + 1000 * 1000 + 1000 + 1000 * 10 + 10


def method(tag: str, **options: Any) -> Method:
    kind = METHODS[tag]
    return kind.model_validate({**kind.defaults(spec.FeedForward), **options})


def network(norm: Method, hidden: tuple[int, ...] = HIDDEN, inputs: int = INPUTS, classes: int = CLASSES) -> nn.Module:
    torch.manual_seed(0)
    build = Build(spec.FeedForward(hidden_sizes=hidden), norm, "auto", CPU, torch.float64)
    model = FeedForward(build, spec.FeedForward(hidden_sizes=hidden), inputs, classes).double()
    with torch.no_grad():  # random gains, shifts and biases, so that they have an effect
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, dtype=torch.float64) / 3)
            assert "original" not in name or isinstance(norm, METHODS["weight_norm"])
    return model


def inputs(batch: int = B) -> Tensor:
    return torch.randn(batch, INPUTS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def numbers(model: nn.Module) -> dict[str, Numbers]:
    return {name: value.detach().numpy() for name, value in model.state_dict().items()}


def linear(x: Numbers, given: dict[str, Numbers], layer: str) -> Numbers:
    a: Numbers = x @ given[f"{layer}.linear.weight"].T
    return a + given.get(f"{layer}.linear.bias", np.zeros(1))


def layer_norm(a: Numbers, gain: Numbers, shift: Numbers) -> Numbers:
    mean, var = a.mean(1, keepdims=True), a.var(1, keepdims=True)
    normalized: Numbers = gain * (a - mean) / np.sqrt(var + EPS) + shift
    return normalized


def batch_norm(a: Numbers, gain: Numbers, shift: Numbers, ddof: int = 0) -> Numbers:
    normalized: Numbers = gain * (a - a.mean(0)) / np.sqrt(a.var(0, ddof=ddof) + EPS) + shift
    return normalized


def expected(x: Numbers, given: dict[str, Numbers], norm: Any, layers: tuple[str, ...]) -> Numbers:
    """Compute the equations with ``norm`` at these layers."""
    for layer in ("layers.0", "layers.1", "output"):
        x = linear(x, given, layer)
        if layer in layers:
            x = norm(x, given[f"{layer}.norm.weight"], given[f"{layer}.norm.bias"])
        if layer != "output":
            x = np.maximum(x, 0)
    return x


ALL, HIDDEN_ONLY = ("layers.0", "layers.1", "output"), ("layers.0", "layers.1")
CASES: list[tuple[Method, Any, tuple[str, ...], int]] = [
    (method("none"), None, (), B),
    (method("layer_norm"), layer_norm, HIDDEN_ONLY, B),
    (method("layer_norm", sites=["layer", "output"]), layer_norm, ALL, B),
    (method("batch_norm"), batch_norm, HIDDEN_ONLY, B),
    (method("batch_norm", sites=["layer", "output"]), batch_norm, ALL, B),
    (method("batch_norm", sites=["output"]), batch_norm, ("output",), B),
    (method("batch_norm", variance="unbiased"), lambda a, g, b: batch_norm(a, g, b, ddof=1), HIDDEN_ONLY, 4),
]


@pytest.mark.parametrize(("norm", "formula", "layers", "batch"), CASES)
def test_forward_pass_computes_the_equations(norm: Method, formula: Any, layers: tuple[str, ...], batch: int) -> None:
    model = network(norm)
    given = numbers(model)
    for layer in ALL:
        assert (f"{layer}.norm.weight" in given) == (layer in layers)
        assert (f"{layer}.linear.bias" in given) == (layer not in layers), "one bias or shift a unit"
    with torch.no_grad():
        logits = model(inputs(batch)).numpy()
    assert logits.shape == (batch, CLASSES)
    np.testing.assert_allclose(logits, expected(inputs(batch).numpy(), given, formula, layers), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("norm", "normalize"),
    [
        (method("rms_norm"), lambda a, g: g * a / np.sqrt((a**2).mean(1, keepdims=True) + EPS)),
        (
            method("layer_norm", affine=False),
            lambda a, g: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + EPS),
        ),
    ],
    ids=["rms_norm", "simple layer_norm"],
)
def test_the_bias_of_a_norm_without_a_shift_is_added_after_it(norm: Method, normalize: Any) -> None:
    """The equation is a = norm(W x) + b. With b inside, the norm would depend on the size of b."""
    model = network(norm)
    given, x = numbers(model), inputs().numpy()
    for layer in HIDDEN_ONLY:
        assert f"{layer}.linear.bias" not in given
        gain = given.get(f"{layer}.norm.weight")
        x = np.maximum(normalize(linear(x, given, layer), gain) + given[f"{layer}.bias"], 0)
    with torch.no_grad():
        np.testing.assert_allclose(model(inputs()).numpy(), linear(x, given, "output"), rtol=1e-11, atol=1e-12)


def test_batch_norm_uses_population_statistics_in_evaluation() -> None:
    model = network(method("batch_norm"))
    seen = [inputs(5), 2 * inputs(9) + 1]
    with torch.no_grad(), population_statistics(model.eval()):
        for batch in seen:
            model(batch)
    given, x = numbers(model), inputs(3).numpy()
    before = [batch.numpy() for batch in seen]
    for layer in HIDDEN_ONLY:
        gain, shift = given[f"{layer}.norm.weight"], given[f"{layer}.norm.bias"]
        summed = [linear(batch, given, layer) for batch in before]
        mean = np.mean([a.mean(0) for a in summed], axis=0)  # batches of any size have equal weight
        var = np.mean([a.var(0) for a in summed], axis=0)
        before = [np.maximum(batch_norm(a, gain, shift), 0) for a in summed]
        x = np.maximum(gain * (linear(x, given, layer) - mean) / np.sqrt(var + EPS) + shift, 0)
    with torch.no_grad():
        np.testing.assert_allclose(model(inputs(3)).numpy(), linear(x, given, "output"), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("mean_only", [False, True])
def test_after_initialization_from_data_all_summed_inputs_have_mean_0_and_variance_1(mean_only: bool) -> None:
    """Salimans and Kingma 2016, Eq. 5-6, hold at every layer, after the layers below have been initialized."""
    norm = method("weight_norm", mean_only_batch_norm=mean_only)
    assert norm.initializes_from_data
    torch.manual_seed(0)
    build = Build(spec.FeedForward(hidden_sizes=HIDDEN), norm, "auto", CPU, torch.float64)
    model = FeedForward(build, spec.FeedForward(hidden_sizes=HIDDEN), INPUTS, CLASSES).double()
    x = 3 * inputs(50) + 2
    with torch.no_grad(), population_statistics(model.eval()), build_norm(norm).initialize_in_first_pass(model):
        model(x)
    given, h = numbers(model), x.numpy()
    for layer in ALL:
        weight = f"{layer}.linear.parametrizations.weight.original"
        v = given[f"{weight}1"]
        w = given[f"{weight}0"] * v / np.sqrt((v**2).sum(1, keepdims=True))
        a = h @ w.T
        a = a - a.mean(0) + given[f"{layer}.norm.bias"] if mean_only else a + given[f"{layer}.linear.bias"]
        np.testing.assert_allclose(a.mean(0), 0, atol=1e-12)
        np.testing.assert_allclose(a.var(0), 1, rtol=1e-12)
        h = np.maximum(a, 0)
    with torch.no_grad():
        model.train()
        np.testing.assert_allclose(model(x).numpy(), a, rtol=1e-10, atol=1e-12)


COUNTS: list[tuple[Method, int]] = [
    (method("none"), UNNORMALIZED),
    (method("layer_norm"), UNNORMALIZED + 2000),  # gain and shift of 2 x 1000 units replace their biases
    (method("layer_norm", sites=["layer", "output"]), UNNORMALIZED + 2010),
    (method("layer_norm", affine=False), UNNORMALIZED),  # with the biases
    (method("batch_norm"), UNNORMALIZED + 2000),
    (method("batch_norm", sites=["layer", "output"]), UNNORMALIZED + 2010),
    (method("batch_renorm"), UNNORMALIZED + 2000),
    (method("group_norm", groups=8), UNNORMALIZED + 2000),
    (method("rms_norm"), UNNORMALIZED + 2000),  # gains, with the biases
    (method("dynamic_tanh"), UNNORMALIZED + 2002),  # gains, biases and one alpha per layer
    (method("weight_norm"), UNNORMALIZED + 2010),  # a length for each row, also of the output layer
    (method("weight_norm", mean_only_batch_norm=True), UNNORMALIZED + 2010),  # the shift is the bias
]


@pytest.mark.parametrize(("norm", "count"), COUNTS)
def test_the_paper_s_network_has_as_many_parameters_as_its_equations(norm: Method, count: int) -> None:
    """The network 784-1000-1000-10 of LN section 6.6 has 1,796,010 parameters without normalization."""
    assert UNNORMALIZED == 1_796_010
    options = spec.FeedForward()
    with torch.device("meta"):
        model = FeedForward(Build(options, norm, "auto", CPU, torch.float32), options, 784, 10)
    assert sum(p.numel() for p in model.parameters()) == count


def test_weights_start_as_in_he_et_al_and_biases_at_0() -> None:
    torch.manual_seed(0)
    options = spec.FeedForward(hidden_sizes=(400,))
    model = FeedForward(Build(options, method("none"), "auto", CPU, torch.float32), options, 500, 300)
    first, last = model.layers[0].linear, model.output.linear
    assert isinstance(first, nn.Linear)
    assert first.weight.std().item() == pytest.approx((2 / 500) ** 0.5, rel=0.01)
    assert last.weight.std().item() == pytest.approx((2 / 400) ** 0.5, rel=0.01)
    assert not first.bias.any()
    assert not last.bias.any()


def test_images_are_read_as_vectors_of_their_pixels() -> None:
    model = network(method("none"))
    x = inputs()
    torch.testing.assert_close(model(x.view(B, 1, 2, 3)), model(x), rtol=0, atol=0)
