"""Weights of a torch network give the same network here, or are refused."""

import pytest
import torch

from normcore.recurrent import load_torch_state_dict
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


def test_refused_state_dict_changes_no_parameter() -> None:
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


def test_second_bias_of_the_gru_candidate_is_refused() -> None:
    theirs, ours = torch.nn.GRU(3, 5), recurrent("gru", 3, 5)
    with pytest.raises(ValueError, match=r"bias_hh_l0\[10:\] to be zero"):
        load_torch_state_dict(ours, theirs.state_dict())
