from typing import Any

import pytest
import torch

from normcore.recurrent import RecurrentState
from normcore.spec.methods.layer_norm import LayerNorm
from tests.normcore.networks import recurrent


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_layers_and_directions_are_stacked_as_in_torch(num_layers: int, bidirectional: bool) -> None:
    torch.manual_seed(0)
    theirs = torch.nn.LSTM(3, 5, num_layers, bidirectional=bidirectional)
    ours = recurrent("lstm", 3, 5, num_layers, bidirectional)
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(9, 4, 3)
    y, (h, c) = theirs(x)
    ours_y, state = ours(x)
    torch.testing.assert_close(ours_y, y, rtol=0, atol=1e-6)
    torch.testing.assert_close(torch.stack([s.h for s in state.cells]), h, rtol=0, atol=1e-6)
    torch.testing.assert_close(torch.stack([s.c for s in state.cells]), c, rtol=0, atol=1e-6)


def test_a_state_dict_of_another_network_is_refused() -> None:
    ours = recurrent("lstm", 3, 5)
    for theirs, message in (
        (torch.nn.LSTM(3, 5, 2), "received weight_ih_l1, .* besides"),
        (torch.nn.LSTM(3, 6), r"expected weight_ih_l0 of shape \(20, 3\), received \(24, 3\)"),
        (torch.nn.LSTM(3, 5, bias=False), "expected bias_ih_l0, which is not there"),
    ):
        with pytest.raises(ValueError, match=message):
            load_torch_state_dict(ours, theirs.state_dict())


def test_a_state_dict_is_taken_over_whole_or_not_at_all() -> None:
    ours, theirs = recurrent("lstm", 3, 5), torch.nn.LSTM(3, 5)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    with pytest.raises(ValueError, match="besides"):
        load_torch_state_dict(ours, {**theirs.state_dict(), "extra": torch.zeros(1)})
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())


def test_a_parametrized_network_takes_torchs_weights_too() -> None:
    ours, theirs = recurrent("lstm", 3, 5, norm={"method": "weight_norm"}), torch.nn.LSTM(3, 5)
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(4, 2, 3)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0], rtol=0, atol=1e-6)


def test_a_gru_takes_no_second_bias_of_its_candidate() -> None:
    theirs, ours = torch.nn.GRU(3, 5), recurrent("gru", 3, 5)
    with pytest.raises(ValueError, match=r"bias_hh_l0\[10:\] to be zero"):
        load_torch_state_dict(ours, theirs.state_dict())


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


def test_gradients_reach_back_through_a_state_that_is_fed_back() -> None:
    torch.manual_seed(0)
    network = recurrent("lstm", 3, 5)
    x = torch.randn(4, 2, 3, requires_grad=True)
    _, state = network(x[:2])
    y, _ = network(x[2:], state=state)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad[0].abs().max() > 0


def test_options_may_be_a_mapping_that_the_cells_defaults_complete() -> None:
    assert recurrent("gru", 3, 5, norm={"method": "layer_norm"}).cells[0].bias_place == "inside"
    assert recurrent("lstm", 3, 5, norm={"method": "layer_norm"}).cells[0].bias_place == "outside"
    assert (
        recurrent("gru", 3, 5, norm=LayerNorm(bias="both", sites=("input", "recurrent"))).cells[0].bias_place == "both"
    )


def test_it_says_which_kernel_runs() -> None:
    assert recurrent("lstm", 3, 5, kernel="auto").kernel == "reference"
    with pytest.raises(ValueError, match="expected kernel auto or reference, received 'fused'"):
        recurrent("lstm", 3, 5, kernel="fused")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cell": "transformer"}, "expected a cell out of rnn, lstm, gru, received 'transformer'"),
        ({"norm": {"method": "layernorm"}}, r"expected norm\.method out of none, .*received 'layernorm'"),
        ({"norm": {"method": "layer_norm", "epsilon": 1e-5}}, "epsilon"),
        ({"norm": "layer_norm"}, "expected norm as a mapping with its tag method, received 'layer_norm'"),
        ({"input_size": 0}, "expected input_size of 1 or more, received 0"),
        ({"hidden_size": 0}, "hidden_size\n  Input should be greater than or equal to 1"),
        ({"num_layers": 0}, "num_layers\n  Input should be greater than or equal to 1"),
        ({"recurrent_init": "ortho"}, "recurrent_init\n  Input should be 'orthogonal', 'identity' or 'uniform'"),
        ({"identity_gates": ["if"]}, "identity_gates.0\n  Input should be 'i', 'f', 'g' or 'o'"),
    ],
)
def test_unknown_parts_are_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recurrent(**{"cell": "lstm", "input_size": 3, "hidden_size": 5, **arguments})


@pytest.mark.parametrize("shape", [(4, 3), (0, 2, 3), (4, 0, 3), (4, 2, 7)])
def test_an_input_of_another_shape_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected x of shape \(T, B, 3\)"):
        recurrent("lstm", 3, 5)(torch.randn(shape))


def test_a_state_of_another_batch_or_network_is_an_error() -> None:
    network = recurrent("lstm", 3, 5, 2)
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match=r"expected a state of LSTMState \(\(3, 5\), \(3, 5\)\), LSTMState"):
        network(torch.randn(4, 3, 3), state=state)
    with pytest.raises(ValueError, match="use the state of the same network and batch"):
        network(torch.randn(4, 2, 3), state=RecurrentState(state.cells[:1], 4))
    with pytest.raises(ValueError, match=r"expected a state of GRUState .* received LSTMState"):
        recurrent("gru", 3, 5, 2)(torch.randn(4, 2, 3), state=state)


def test_a_bidirectional_network_takes_whole_sequences() -> None:
    network = recurrent("lstm", 3, 5, bidirectional=True)
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match="expected no state for a bidirectional network"):
        network(torch.randn(4, 2, 3), state=state)


def test_lengths_that_are_no_tensor_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"expected lengths as a tensor, received list; use torch.tensor\(lengths\)"):
        recurrent("lstm", 3, 5)(torch.randn(4, 2, 3), [4, 2])


def test_statistics_over_whole_sequences_take_no_pieces() -> None:
    network = recurrent("lstm", 3, 5, norm={"method": "sequence_batch_norm"})
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match=r"expected whole sequences.*pass them from the start, or use evaluation mode"):
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
def test_lengths_that_do_not_fit_are_an_error(lengths: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recurrent("lstm", 3, 5)(torch.randn(4, 2, 3), torch.tensor(lengths))


@pytest.mark.parametrize(
    ("cell", "norm", "message"),
    [
        (
            "rnn",
            {"method": "layer_norm", "sites": ["cell"]},
            "rnn has no site 'cell'; use some of input, recurrent, sum",
        ),
        ("gru", {"method": "recurrent_batch_norm", "sites": ["sum"]}, "gru has no site 'sum'"),
        ("lstm", {"method": "layer_norm", "sites": ["sum", "input"]}, "sum is both terms together"),
        ("lstm", {"method": "recurrent_batch_norm", "sites": ["sum"], "carry": "normalized"}, "needs the site cell"),
    ],
)
def test_sites_that_a_cell_does_not_have_are_an_error(cell: str, norm: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recurrent(cell, 3, 5, norm=norm)
