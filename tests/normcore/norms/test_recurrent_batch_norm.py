from typing import Any

import pytest
import torch
from torch.nn import functional

from normcore.cells.lstm import LSTMState
from normcore.norms import build
from normcore.norms.normalization import Identity, Shift, size_of_products
from normcore.norms.population import population_statistics
from normcore.norms.recurrent_batch_norm import BatchNormAtSite
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from normcore.spec.models.model import Place
from tests.normcore.networks import recurrent, taking_in

CELLS = ["rnn", "lstm", "gru"]
RBN = {"method": "recurrent_batch_norm"}


def test_output_is_the_equation() -> None:
    torch.manual_seed(0)
    norm = build(RecurrentBatchNorm(eps=1e-3, gain_init=0.5)).norm(6, "cell").double()
    bias = norm.get_parameter("bias")
    with torch.no_grad():
        bias.add_(torch.randn(6))
    a = torch.randn(4, 6, dtype=torch.float64)
    normalized = norm(a, 0)
    for k in range(6):
        column = a[:, k]
        mean = sum(column) / 4
        var = sum((value - mean) ** 2 for value in column) / 4
        expected = 0.5 * (column - mean) / (var + 1e-3) ** 0.5 + bias[k]
        torch.testing.assert_close(normalized[:, k], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("site", ["input", "recurrent", "sum", "cell"])
def test_only_the_cell_has_a_shift(site: Place) -> None:
    options = RecurrentBatchNorm(sites=(site,))
    names = {name for name, _ in build(options).norm(6, site).named_parameters()}
    assert names == ({"weight", "bias"} if site == "cell" else {"weight"})


def test_site_switched_off_is_as_in_the_baseline() -> None:
    cell = recurrent("lstm", 3, 5, norm={**RBN, "sites": ["recurrent"]}).cells[0]
    assert isinstance(cell.norm_x, Identity)
    assert isinstance(cell.norm_h, BatchNormAtSite)
    assert isinstance(cell.norm_c, Shift)


def test_input_statistics_can_cover_all_steps_without_padding() -> None:
    """BN-e*: sequence-wise batch norm with an eps of 1e-6 for the input's term, step by step for the other terms."""
    torch.manual_seed(0)
    cell: Any = (
        recurrent("lstm", 3, 2, norm={**RBN, "input_statistics": "sequence", "gain_init": 0.5}).cells[0].double()
    )
    assert isinstance(cell.norm_h, BatchNormAtSite)
    assert isinstance(cell.norm_c, BatchNormAtSite)
    a = 1e-3 * torch.randn(4, 2, 8, dtype=torch.float64)
    mask = torch.tensor([[True, True], [True, True], [True, False], [True, False]])
    rows = a[mask]
    expected = 0.5 * (a - rows.mean(0)) / (rows.var(0, correction=0) + 1e-6).sqrt()
    torch.testing.assert_close(cell.norm_x(a, 0, mask), expected, rtol=1e-12, atol=0)


def test_input_statistics_over_all_steps_can_be_running_averages() -> None:
    options = {**RBN, "input_statistics": "sequence", "population": "running", "momentum": 0.25}
    norm: Any = recurrent("rnn", 1, 1, norm={**options, "sites": ["input"]}).cells[0].norm_x
    for value in (0.0, 4.0):
        taking_in(norm, torch.tensor([[[value], [value + 2]], [[value], [value + 2]]]))
    assert norm.get_buffer("running_mean").tolist() == [[2.0]]  # 1, then a quarter of 5
    assert norm.get_buffer("running_var").tolist() == [[1.0]]


def test_whole_sequences_are_needed_only_for_input_statistics_over_all_steps() -> None:
    whole = RecurrentBatchNorm(input_statistics="sequence")
    assert whole.whole_sequences
    assert not whole.within(frozenset({"recurrent", "cell"})).whole_sequences
    assert not RecurrentBatchNorm().whole_sequences


@pytest.mark.parametrize("steps_at_once", [False, True])
def test_constant_feature_gives_the_shift_and_no_gradient(steps_at_once: bool) -> None:
    torch.manual_seed(0)
    norm = build(RecurrentBatchNorm()).norm(3, "cell")
    with torch.no_grad():
        norm.get_parameter("bias").add_(0.25)
    a = torch.randn(5, 3)
    a[:, 1] = 1 / 3
    a = (a.expand(2, 5, 3).clone() if steps_at_once else a).requires_grad_()
    normalized = norm(a, 0)
    (normalized * torch.randn_like(normalized)).sum().backward()
    assert normalized[..., 1].eq(0.25).all()
    assert a.grad is not None
    assert a.grad[..., 1].eq(0).all()
    assert a.grad[..., [0, 2]].ne(0).all()


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
def test_small_feature_beside_large_features_is_not_taken_for_constant(size: float) -> None:
    """A feature with a variance of eps or less is scaled by 1 / sqrt(var + eps), not replaced by 0."""
    torch.manual_seed(0)
    norm = build(RecurrentBatchNorm(gain_init=1.0)).norm(2, "input")
    a = torch.randn(64, 2) * torch.tensor([1.0, size])
    with torch.no_grad(), population_statistics(norm):
        taking_in(norm, a)
    mean, var = a[:, 1].mean(), a[:, 1].var(correction=0)
    expected = (a[:, 1] - mean) / (var + 1e-5).sqrt()
    for mode in (norm.train(), norm.eval()):
        torch.testing.assert_close(mode(a, 0)[:, 1], expected, rtol=1e-3, atol=0)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constant_first_steps_stay_constant_and_have_small_gradients(cell: str, dtype: torch.dtype) -> None:
    """Products of equal rows are not bitwise equal with these odd sizes. A factor of 31.6 per step would overflow."""
    torch.manual_seed(0)
    network = recurrent(cell, 2, 101, norm=RBN).to(dtype)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    x = torch.full((60, 33, 2), 1 / 3, dtype=dtype)
    x[-3:] = torch.randn(3, 33, 2)
    x.requires_grad_()
    y, _ = network(x)
    assert (y[:57] - y[:57, :1]).abs().max() < 100 * torch.finfo(dtype).eps
    y[-1].square().mean().backward()
    gradients = [x.grad, *(parameter.grad for parameter in network.parameters())]
    assert all(g is not None and g.abs().max() < 10 for g in gradients)


def test_every_step_has_statistics_of_its_own() -> None:
    norm = build(RecurrentBatchNorm(gain_init=1.0)).norm(1, "input")
    with population_statistics(norm):
        taking_in(norm, torch.tensor([[[0.0], [2.0]], [[10.0], [30.0]]]))
    norm.eval()
    assert norm(torch.tensor([[1.0]]), 0).item() == 0
    assert norm(torch.tensor([[20.0]]), 1).item() == 0
    assert norm(torch.tensor([[20.0]]), 7).item() == 0


def test_statistics_are_computed_in_float32_at_least() -> None:
    norm = build(RecurrentBatchNorm()).norm(2, "input")
    a = (1000 + torch.randn(64, 2)).bfloat16()
    with population_statistics(norm):
        normalized = taking_in(norm, a)
    assert normalized.dtype == torch.bfloat16
    assert norm.get_buffer("running_mean").dtype == torch.float32
    torch.testing.assert_close(norm.get_buffer("running_mean")[0], a.float().mean(0))


def test_a_checkpoint_of_another_size_is_refused() -> None:
    norm, other = (build(RecurrentBatchNorm()).norm(size, "input") for size in (3, 4))
    with pytest.raises(RuntimeError, match="size mismatch"):
        norm.load_state_dict(other.state_dict())


def test_noise_is_added_to_h_only_and_drawn_anew_at_every_pass() -> None:
    network = recurrent("lstm", 3, 5, norm={**RBN, "initial_state_noise": 0.1, "sites": []}).eval()
    x = torch.randn(2, 4, 3)
    torch.manual_seed(1)
    first, _ = network(x)
    second, _ = network(x)
    torch.manual_seed(1)
    again, _ = network(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)

    torch.manual_seed(1)
    state = network.initial_state(network.cells[0], 20_000)
    assert isinstance(state, LSTMState)
    assert state.h.std().item() == pytest.approx(0.1, rel=0.01)
    assert state.c.eq(0).all()


def test_noise_gives_the_recurrent_weights_a_gradient_at_the_first_step() -> None:
    """The first state is shared if there is no noise, so W_h h_0 is constant over the batch and normalized to zero."""
    gradients = {}
    for noise in (0.0, 0.1):
        torch.manual_seed(0)
        network = recurrent("lstm", 3, 5, norm={**RBN, "initial_state_noise": noise})
        network(torch.randn(1, 8, 3))[0].square().sum().backward()
        gradient = network.get_parameter("cells.0.weight_hh").grad
        assert gradient is not None
        gradients[noise] = gradient.abs().max().item()
    assert gradients[0.0] == 0
    assert gradients[0.1] > 0


def varying(a: torch.Tensor, size: torch.Tensor | None = None) -> list[bool]:
    """Tell for each feature of a minibatch (B, F) if it is normalized, rather than taken for constant."""
    norm = (
        build(RecurrentBatchNorm(gain_init=1.0))
        .norm(a.shape[1], "recurrent")
        .to(torch.promote_types(a.dtype, torch.float32))
    )
    normalized = norm(a, 0, size=None if size is None else lambda: size)
    return [bool(varies) for varies in (normalized != 0).any(0)]


@pytest.mark.parametrize("batch", [8, 16, 64, 100])
def test_small_deviation_around_a_large_mean_is_not_taken_for_constant(batch: int) -> None:
    torch.manual_seed(0)
    assert varying(1e4 + 0.01 * torch.randn(batch, 400)) == [True] * 400


@pytest.mark.parametrize("features", [2, 4, 20, 100, 400])
@pytest.mark.parametrize("deviation", [1.0, 0.01])
@pytest.mark.parametrize("value", [1e6, 1e-6])
def test_constant_feature_leaves_the_other_features_normalized(value: float, deviation: float, features: int) -> None:
    torch.manual_seed(0)
    a = deviation * torch.randn(64, features)
    a[:, 1] = value
    assert varying(a) == [k != 1 for k in range(features)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("inputs", [3, 101, 2000])
def test_products_of_equal_rows_that_cancel_are_taken_for_constant(inputs: int, dtype: torch.dtype) -> None:
    """Products are not bitwise equal with these odd sizes. The first ten features cancel to one part in a million."""
    torch.manual_seed(0)
    row, weight = torch.randn(inputs, dtype=dtype), torch.randn(101, inputs, dtype=dtype)
    away = 1 - 1e-6
    weight[:10] -= away * (weight[:10] @ row).outer(row) / row.square().sum()
    rows = row.repeat(33, 1)
    rows[::3] *= 1 + torch.finfo(dtype).eps  # a rounding error of the last operation
    a = functional.linear(rows, weight)
    assert (a.amax(0) > a.amin(0)).any(), "else this shows nothing"
    assert not any(varying(a, size_of_products(weight, rows)()))


@pytest.mark.parametrize("scale", [1e20, 1e-25])
def test_products_of_equal_rows_with_large_or_small_weights_are_taken_for_constant(scale: float) -> None:
    """The products cancel, so that a feature's own size does not show the rounding. Other rows are normalized."""
    torch.manual_seed(0)
    row, weight = torch.randn(101), torch.randn(101, 101)
    weight -= (1 - 1e-6) * (weight @ row).outer(row) / row.square().sum()
    rows = row.repeat(33, 1)
    rows[::3] *= 1 + torch.finfo(torch.float32).eps
    weight *= scale
    a = functional.linear(rows, weight)
    assert (a.amax(0) > a.amin(0)).any(), "else this shows nothing"
    assert not any(varying(a, size_of_products(weight, rows)()))
    rows = torch.randn(33, 101)
    assert all(varying(functional.linear(rows, weight), size_of_products(weight, rows)()))


def test_size_of_products_is_that_of_rows_and_weights() -> None:
    weight, rows = torch.tensor([[3.0, 4.0], [1.0, 0.0]]), torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0]] * 2])
    assert torch.equal(size_of_products(weight, rows)(), torch.tensor([[10.0, 2.0], [0.0, 0.0]]))


def test_bfloat16_values_that_differ_by_the_last_place_are_taken_for_constant() -> None:
    a = torch.tensor([[1.0, 1.0], [1.0 + 2**-7, 1.0 + 2**-5]], dtype=torch.bfloat16)
    assert varying(a) == [False, True]
