"""Growth of summed inputs equals explicit loops, and ln(scale) without a norm."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.utils.parametrizations import weight_norm

from normcore.analyses.hidden_dynamics import SiteDynamics, finding_of, growth_per_step, hidden_dynamics, section_3_1
from normcore.recurrent import Recurrent
from tests.normcore.networks import recurrent


def root_mean_square(a: NDArray[np.float64]) -> float:
    return float(np.sqrt((a**2).mean()))


def layer_normalized(a: NDArray[np.float64]) -> NDArray[np.float64]:
    normalized: NDArray[np.float64] = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    return normalized


def sigmoid(a: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-a))


def at(site: str, dynamics: list[SiteDynamics]) -> list[SiteDynamics]:
    return [d for d in dynamics if d.site == site]


def weights(network: Recurrent) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    cell = network.cells[0].double()
    return cell.get_parameter("weight_ih").detach().numpy(), cell.get_parameter("weight_hh").detach().numpy()


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_rnn_measures_the_sum_of_both_terms_and_the_input_of_tanh(scale: float) -> None:
    torch.manual_seed(0)
    network = recurrent("rnn", 3, 5, norm={"method": "layer_norm"})
    x = torch.randn(7, 4, 3)
    [measured] = at("cells.0.norm_sum", hidden_dynamics(network, x, scale))
    w_x, w_h = weights(network)
    h = np.zeros((4, 5))
    for t, x_t in enumerate(x.double().numpy()):
        a = x_t @ w_x.T + scale * h @ w_h.T
        assert measured.summed_inputs[t] == pytest.approx(root_mean_square(a), rel=1e-12)
        assert measured.normalized[t] == pytest.approx(root_mean_square(layer_normalized(a)), rel=1e-12)
        h = np.tanh(layer_normalized(a))
    assert measured.weight_scale == scale


def test_lstm_measures_the_recurrent_term() -> None:
    torch.manual_seed(0)
    network = recurrent("lstm", 3, 5, norm={"method": "layer_norm"})
    x = torch.randn(7, 4, 3)
    [measured] = at("cells.0.norm_h", hidden_dynamics(network, x, 2.0))
    w_x, w_h = weights(network)
    h = c = np.zeros((4, 5))
    for t, x_t in enumerate(x.double().numpy()):
        summed = 2 * h @ w_h.T
        assert measured.summed_inputs[t] == pytest.approx(root_mean_square(summed), rel=1e-12)
        assert measured.normalized[t] == pytest.approx(root_mean_square(layer_normalized(summed)), rel=1e-12)
        i, f, g, o = np.split(layer_normalized(x_t @ w_x.T) + layer_normalized(summed), 4, axis=1)
        c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(layer_normalized(c))


def impulse(cell: str, method: str) -> list[SiteDynamics]:
    torch.manual_seed(0)
    network = recurrent(cell, 100, 100, norm={"method": method})
    return [dynamics for scale in (0.5, 1.0, 1.5, 2.0) for dynamics in section_3_1(network, scale, seed=0)]


def growth_by_scale(dynamics: list[SiteDynamics]) -> dict[float, float]:
    growth = {}
    for measured in dynamics:
        assert measured.growth is not None
        growth[measured.weight_scale] = measured.growth
    return growth


def test_unnormalized_inputs_grow_or_shrink_by_the_scale_at_every_step() -> None:
    """Orthogonal weights preserve lengths, and tanh is linear for such small values."""
    for measured in at("cells.0.norm_sum", impulse("rnn", "none")):
        ratios = np.divide(measured.summed_inputs[1:], measured.summed_inputs[:-1])
        np.testing.assert_allclose(ratios, measured.weight_scale, rtol=0.01)
        assert measured.growth == pytest.approx(math.log(measured.weight_scale), abs=1e-3)
        assert measured.normalized == measured.summed_inputs


@pytest.mark.parametrize(
    ("method", "magnitude"),
    [("layer_norm", pytest.approx(1, abs=1e-3)), ("recurrent_batch_norm", pytest.approx(0.1, rel=0.01))],
)
def test_normalized_inputs_are_stable_at_every_scale(method: str, magnitude: object) -> None:
    dynamics = at("cells.0.norm_sum", impulse("rnn", method))
    assert [measured.weight_scale for measured in dynamics] == [0.5, 1.0, 1.5, 2.0]
    for measured in dynamics:
        assert measured.growth == pytest.approx(0, abs=0.002)
        assert measured.normalized_growth == pytest.approx(0, abs=0.002)
        assert measured.normalized[-1] == magnitude
    last = [measured.summed_inputs[-1] for measured in dynamics]
    np.testing.assert_allclose(np.divide(last, last[1]), [0.5, 1.0, 1.5, 2.0], rtol=0.02)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_state_of_an_untrained_network_decays_without_a_norm(cell: str) -> None:
    """Larger scales make the decay slower. With layer norm the scale makes no difference."""
    plain = growth_by_scale(impulse(cell, "none"))
    normalized = growth_by_scale(impulse(cell, "layer_norm"))
    assert plain[0.5] < plain[1.0] < plain[1.5] < plain[2.0] < 0
    assert all(abs(growth) < 0.02 for growth in normalized.values())


def test_every_site_of_every_layer_is_measured() -> None:
    torch.manual_seed(0)
    dynamics = hidden_dynamics(recurrent("rnn", 3, 5, num_layers=2), torch.randn(4, 2, 3), 2.0)
    assert [d.site for d in dynamics if d.site.endswith("norm_sum")] == ["cells.0.norm_sum", "cells.1.norm_sum"]
    assert all(len(d.summed_inputs) == len(d.normalized) == 4 for d in dynamics)


def test_network_is_unchanged_after_the_measurement() -> None:
    torch.manual_seed(0)
    network = recurrent("lstm", 3, 5)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    hidden_dynamics(network, torch.randn(4, 2, 3), 2.0)
    after = network.state_dict()
    assert before.keys() == after.keys()
    assert all(tensor.dtype == torch.float32 and torch.equal(tensor, before[name]) for name, tensor in after.items())


def test_parametrized_matrix_is_scaled() -> None:
    torch.manual_seed(0)
    network = recurrent("rnn", 3, 5)
    x = torch.randn(4, 2, 3)
    [plain] = at("cells.0.norm_sum", hidden_dynamics(network, x, 1.7))
    weight_norm(network.cells[0], "weight_hh", dim=0)
    [parametrized] = at("cells.0.norm_sum", hidden_dynamics(network, x, 1.7))
    assert parametrized.summed_inputs == pytest.approx(plain.summed_inputs, rel=1e-6)


def test_values_whose_squares_underflow_are_measured() -> None:
    torch.manual_seed(0)
    x = torch.zeros(30, 2, 5)
    x[0] = 1e-6
    [measured] = at("cells.0.norm_sum", hidden_dynamics(recurrent("rnn", 5, 5), x, 1e-10))
    assert measured.growth == pytest.approx(math.log(1e-10), rel=1e-7)
    assert 0 < measured.summed_inputs[-1] < 1e-290


def test_growth_is_measured_over_the_second_half_without_zeros() -> None:
    assert growth_per_step([7, 0, 1, 3, 9, 27]) == pytest.approx(math.log(3))
    assert growth_per_step([1, 1, 2, 0, 8]) == pytest.approx(math.log(2))
    assert growth_per_step([1, 1, 2, 0]) is None


@pytest.mark.parametrize(
    ("growth", "verdict", "grows_or_shrinks", "stable"),
    [
        (0.02, "grows", True, False),
        (-0.02, "shrinks", True, False),
        (0.009, "stable", False, True),
        (-0.009, "stable", False, True),
    ],
)
def test_verdict_on_section_3_1_depends_on_the_growth(
    growth: float, verdict: str, grows_or_shrinks: bool, stable: bool
) -> None:
    measured = SiteDynamics(1.5, "cells.0.norm_sum", [], [], growth, None)
    found = {claim: finding_of(measured, "summed_inputs", claim) for claim in ("grows or shrinks", "stable")}
    assert {finding.verdict for finding in found.values()} == {verdict}
    assert {claim: finding.holds for claim, finding in found.items()} == {
        "grows or shrinks": grows_or_shrinks,
        "stable": stable,
    }


def test_section_3_1_is_not_judged_by_a_single_term() -> None:
    term = SiteDynamics(1.5, "cells.0.norm_h", [], [], 0.02, 0.02)
    assert finding_of(term, "summed_inputs", "stable").holds is None
    nothing = SiteDynamics(1.5, "cells.0.norm_sum", [], [], None, 0.02)
    assert finding_of(nothing, "summed_inputs", "stable").holds is None
    assert finding_of(nothing, "normalized", "stable").holds is False
