from typing import Any, Literal

import pytest
import torch

from normcore.recurrent import RecurrentState
from normcore.spec.methods.layer_norm import LayerNorm
from tests.normcore.networks import recurrent


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_the_first_state_is_trained_and_shared(cell: str) -> None:
    torch.manual_seed(0)
    network = recurrent(cell, 3, 5)
    initial = {name: p for name, p in network.named_parameters() if name.endswith("0")}
    assert set(initial) == ({"cells.0.h0", "cells.0.c0"} if cell == "lstm" else {"cells.0.h0"})
    assert all(p.shape == (5,) and p.eq(0).all() for p in initial.values())
    y, _ = network(torch.randn(2, 4, 3))
    y.sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in initial.values())


@pytest.mark.parametrize(
    ("cell", "options", "trained"),
    [
        ("rnn", {"first_state": "zeros"}, set()),
        ("gru", {"first_state": "zeros"}, set()),
        ("lstm", {"first_state": "zeros"}, {"c0"}),
        ("lstm", {"first_cell": "zeros"}, {"h0"}),
        ("lstm", {"first_state": "zeros", "first_cell": "zeros"}, set()),
    ],
)
def test_first_state_can_be_fixed_at_zeros(cell: str, options: dict[str, Any], trained: set[str]) -> None:
    torch.manual_seed(0)
    network = recurrent(cell, 3, 5, **options)
    assert {n.removeprefix("cells.0.") for n, _ in network.named_parameters() if n.endswith("0")} == trained
    assert not any(name.endswith("0") for name in network.state_dict().keys() - {f"cells.0.{n}" for n in trained})
    usual = recurrent(cell, 3, 5)
    usual.load_state_dict(network.state_dict(), strict=False)
    x = torch.randn(4, 2, 3)
    torch.testing.assert_close(network(x)[0], usual(x)[0], rtol=0, atol=0)
    assert network.to(torch.float64)(x.double())[0].dtype == torch.float64


@pytest.mark.parametrize("method", ["none", "layer_norm", "recurrent_batch_norm"])
def test_bias_of_the_cell_can_be_left_out(method: str) -> None:
    """The norm of the read-out of the cell keeps its shift."""
    norm = {"method": method, **({} if method == "none" else {"sites": ["input", "recurrent"]})}
    names = {n for n, _ in recurrent("lstm", 3, 5, norm=norm, cell_bias=False).named_parameters()}
    usual = {n for n, _ in recurrent("lstm", 3, 5, norm=norm).named_parameters()}
    assert usual - names == {"cells.0.norm_c.bias"}
    if method != "none":
        shifted = recurrent("lstm", 3, 5, norm={"method": method}, cell_bias=False)
        assert "cells.0.norm_c.bias" in dict(shifted.named_parameters())


def test_gradients_reach_back_through_a_state_that_is_fed_back() -> None:
    torch.manual_seed(0)
    network = recurrent("lstm", 3, 5)
    x = torch.randn(4, 2, 3, requires_grad=True)
    _, state = network(x[:2])
    y, _ = network(x[2:], state=state)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad[0].abs().max() > 0


@pytest.mark.parametrize("place", ["outside", "inside", "both"])
def test_cells_are_built_with_the_options_of_the_method(place: Literal["outside", "inside", "both"]) -> None:
    norm = LayerNorm(bias=place, sites=("input", "recurrent"))
    assert recurrent("gru", 3, 5, norm=norm).cells[0].bias_place == place


def test_input_without_features_is_refused() -> None:
    with pytest.raises(ValueError, match="expected input_size of 1 or more, received 0"):
        recurrent("lstm", 0, 5)


@pytest.mark.parametrize("shape", [(4, 3), (0, 2, 3), (4, 0, 3), (4, 2, 7)])
def test_input_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected x of shape \(T, B, 3\)"):
        recurrent("lstm", 3, 5)(torch.randn(shape))


def test_state_of_another_batch_or_network_is_refused() -> None:
    network = recurrent("lstm", 3, 5, 2)
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match=r"expected a state of LSTMState \(\(3, 5\), \(3, 5\)\), LSTMState"):
        network(torch.randn(4, 3, 3), state=state)
    with pytest.raises(ValueError, match="use the state of the same network and batch"):
        network(torch.randn(4, 2, 3), state=RecurrentState(state.cells[:1], 4))
    with pytest.raises(ValueError, match=r"expected a state of HiddenState .* received LSTMState"):
        recurrent("gru", 3, 5, 2)(torch.randn(4, 2, 3), state=state)


def test_bidirectional_network_refuses_an_initial_state() -> None:
    network = recurrent("lstm", 3, 5, bidirectional=True)
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match="expected no state for a bidirectional network"):
        network(torch.randn(4, 2, 3), state=state)


def test_lengths_that_are_not_a_tensor_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected lengths as a tensor, received list; use torch.tensor\(lengths\)"):
        recurrent("lstm", 3, 5)(torch.randn(4, 2, 3), [4, 2])


def test_statistics_over_whole_sequences_refuse_pieces() -> None:
    network = recurrent("lstm", 3, 5, norm={"method": "sequence_batch_norm"})
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match=r"expected no state.*pass whole sequences from the start, or use evaluation"):
        network(torch.randn(4, 2, 3), state=state)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_batch_that_is_all_padding_keeps_its_state(bidirectional: bool) -> None:
    network = recurrent("lstm", 3, 5, 2, bidirectional)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("h0"):
                parameter.add_(0.5)
    y, state = network(torch.randn(4, 2, 3), torch.zeros(2, dtype=torch.int64))
    assert y.shape == (4, 2, 10 if bidirectional else 5)
    assert y.eq(0.5).all()
    assert state.t == 4


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1, 2, 3], r"expected lengths of shape \(2,\)"),
        ([1.0, 2.0], "whole numbers"),
        ([1, 5], "expected lengths from 0 to 4, received 1 to 5"),
        ([-1, 2], "expected lengths from 0 to 4, received -1 to 2"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(lengths: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recurrent("lstm", 3, 5)(torch.randn(4, 2, 3), torch.tensor(lengths))
