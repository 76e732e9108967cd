from typing import Literal

import pytest
import torch

from normcore.cells.lstm import LSTM
from normcore.norms import build
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.models.model import Place
from tests.normcore.networks import recurrent


def test_output_is_the_equation() -> None:
    torch.manual_seed(0)
    norm = build(LayerNorm(eps=1e-3, gain_init=0.5)).norm(6, "input").double()
    bias = norm.get_parameter("bias")
    with torch.no_grad():
        bias.add_(torch.randn(6))
    a = torch.randn(4, 6, dtype=torch.float64)
    for row, normalized in zip(a, norm(a, 0), strict=True):
        mean = sum(row) / 6
        var = sum((value - mean) ** 2 for value in row) / 6
        torch.testing.assert_close(normalized, 0.5 * (row - mean) / (var + 1e-3) ** 0.5 + bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("site", "names"), [("sum", {"weight"}), ("cell", {"weight", "bias"})])
def test_norm_of_the_sum_has_no_shift_beside_the_bias_of_the_cell(site: Place, names: set[str]) -> None:
    assert {name for name, _ in build(LayerNorm(sites=(site,))).norm(6, site).named_parameters()} == names


@pytest.mark.parametrize("delta", [0.01, 0.5, 7.0])
def test_rescaling_the_summed_inputs_changes_the_output_by_the_factor_from_eps(delta: float) -> None:
    """Section 5, Table 1: LN is invariant for eps = 0; else the ratio is sqrt((v + eps) / (v + eps / delta^2))."""
    torch.manual_seed(0)
    eps = 1e-2
    norm = build(LayerNorm(eps=eps)).norm(8, "input").double()
    a = torch.randn(64, 8, dtype=torch.float64)
    var = a.var(1, correction=0, keepdim=True)
    ratio = ((var + eps) / (var + eps / delta**2)).sqrt()
    torch.testing.assert_close(norm(delta * a, 0) / norm(a, 0), ratio.expand(64, 8), rtol=1e-12, atol=0)


def test_size_of_a_scalar_input_shows_only_with_the_bias_inside() -> None:
    """LN(w x) of a pixel x does not depend on |x|, but LN(w x + b) does."""
    for place, sees in (("outside", False), ("inside", True), ("both", True)):
        torch.manual_seed(0)
        cell = recurrent("lstm", 1, 20, norm={"method": "layer_norm", "bias": place, "eps": 1e-12}).double().cells[0]
        assert isinstance(cell, LSTM)
        small, large = cell.input_term(torch.tensor([[[0.3]], [[0.9]]], dtype=torch.float64), 0)
        assert torch.allclose(small, large, atol=1e-6) is not sees


@pytest.mark.parametrize("method", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize(("bias_init", "explodes"), [(0.0, True), (0.1, False)])
def test_spread_initial_biases_keep_the_gradient_finite_over_blank_inputs(
    bias_init: float, explodes: bool, method: str
) -> None:
    """The input is forty blank pixels and one pixel of ink."""
    torch.manual_seed(0)
    network = recurrent("lstm", 1, 50, norm={"method": method, "bias_init": bias_init})
    x = torch.zeros(41, 2, 1)
    x[-1] = 1
    network(x)[0][-1].sum().backward()
    gradient = network.get_parameter("cells.0.weight_hh").grad
    assert gradient is not None
    assert bool(gradient.isfinite().all()) is not explodes


def test_gain_of_a_channel_applies_at_all_its_places() -> None:
    torch.manual_seed(0)
    layer = build(LayerNorm(conv_gain="per_channel")).layer((3, 2, 4)).double()
    with torch.no_grad():
        layer.get_parameter("weight").copy_(torch.tensor([1.0, 2.0, 3.0]).reshape(3, 1, 1))
        layer.get_parameter("bias").copy_(torch.tensor([0.0, -1.0, 5.0]).reshape(3, 1, 1))
    a = torch.randn(6, 3, 2, 4, dtype=torch.float64)
    for n in range(6):
        plain = (a[n] - a[n].mean()) / (a[n].var(correction=0) + 1e-5).sqrt()
        expected = torch.stack([plain[0], 2 * plain[1] - 1, 3 * plain[2] + 5])
        torch.testing.assert_close(layer(a)[n], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("gain", "parameters"), [("per_unit", 2 * 24), ("per_channel", 2 * 4)])
def test_an_image_has_one_mean_and_one_variance(gain: Literal["per_unit", "per_channel"], parameters: int) -> None:
    torch.manual_seed(0)
    norm = build(LayerNorm(conv_gain=gain, eps=1e-3)).layer((4, 3, 2)).double()
    a = torch.randn(2, 4, 3, 2, dtype=torch.float64)
    mean, var = a.mean((1, 2, 3), keepdim=True), a.var((1, 2, 3), correction=0, keepdim=True)
    torch.testing.assert_close(norm(a), (a - mean) / (var + 1e-3).sqrt(), rtol=0, atol=1e-12)
    assert sum(p.numel() for p in norm.parameters()) == parameters
    assert not list(build(LayerNorm(affine=False)).layer((4, 3, 2)).parameters())
