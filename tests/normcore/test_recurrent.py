import pytest
import torch

from normcore.recurrent import Recurrent, RecurrentState
from normcore.spec.norm import LayerNorm


def copied(theirs: torch.nn.LSTM, ours: Recurrent) -> None:
    """Copy torch's weights, layer by layer and direction by direction."""
    suffixes = ["", "_reverse"] if theirs.bidirectional else [""]
    names = [f"_l{layer}{suffix}" for layer in range(theirs.num_layers) for suffix in suffixes]
    with torch.no_grad():
        for cell, name in zip(ours.cells, names, strict=True):
            cell.weight_ih.copy_(getattr(theirs, "weight_ih" + name))
            cell.weight_hh.copy_(getattr(theirs, "weight_hh" + name))
            cell.bias.copy_(getattr(theirs, "bias_ih" + name) + getattr(theirs, "bias_hh" + name))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_layers_and_directions_are_stacked_as_in_torch(num_layers: int, bidirectional: bool) -> None:
    torch.manual_seed(0)
    theirs = torch.nn.LSTM(3, 5, num_layers, bidirectional=bidirectional)
    ours = Recurrent("lstm", 3, 5, num_layers, bidirectional)
    copied(theirs, ours)
    x = torch.randn(9, 4, 3)
    y, (h, c) = theirs(x)
    ours_y, state = ours(x)
    torch.testing.assert_close(ours_y, y, rtol=0, atol=1e-6)
    torch.testing.assert_close(torch.stack([s.h for s in state.cells]), h, rtol=0, atol=1e-6)
    torch.testing.assert_close(torch.stack([s.c for s in state.cells]), c, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_the_first_state_is_trained_and_shared(cell: str) -> None:
    torch.manual_seed(0)
    network = Recurrent(cell, 3, 5)
    initial = {name: p for name, p in network.named_parameters() if name.endswith("0")}
    assert set(initial) == ({"cells.0.h0", "cells.0.c0"} if cell == "lstm" else {"cells.0.h0"})
    assert all(p.shape == (5,) and p.eq(0).all() for p in initial.values())
    y, _ = network(torch.randn(2, 4, 3))
    y.sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in initial.values())


def test_gradients_reach_back_through_a_state_that_is_fed_back() -> None:
    torch.manual_seed(0)
    network = Recurrent("lstm", 3, 5)
    x = torch.randn(4, 2, 3, requires_grad=True)
    _, state = network(x[:2])
    y, _ = network(x[2:], state)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad[0].abs().max() > 0


def test_options_may_be_a_mapping_that_the_cells_defaults_complete() -> None:
    assert Recurrent("gru", 3, 5, norm={"method": "layer_norm"}).cells[0].bias_place == "inside"
    assert Recurrent("lstm", 3, 5, norm={"method": "layer_norm"}).cells[0].bias_place == "outside"
    assert Recurrent("gru", 3, 5, norm=LayerNorm(bias="both")).cells[0].bias_place == "both"


def test_it_says_which_kernel_runs() -> None:
    assert Recurrent("lstm", 3, 5, kernel="auto").kernel == "reference"
    with pytest.raises(ValueError, match="expected kernel auto or reference, received 'fused'"):
        Recurrent("lstm", 3, 5, kernel="fused")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cell": "transformer"}, "expected a cell out of rnn, lstm, gru, received 'transformer'"),
        ({"norm": {"method": "layernorm"}}, r"expected norm\.method out of none, .*received 'layernorm'"),
        ({"norm": {"method": "layer_norm", "epsilon": 1e-5}}, "epsilon"),
    ],
)
def test_unknown_parts_are_errors(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recurrent(**{"cell": "lstm", "input_size": 3, "hidden_size": 5, **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(4, 3), (0, 2, 3), (4, 2, 7)])
def test_an_input_of_another_shape_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected x of shape \(T, B, 3\)"):
        Recurrent("lstm", 3, 5)(torch.randn(shape))


def test_a_state_of_another_batch_or_network_is_an_error() -> None:
    network = Recurrent("lstm", 3, 5, 2)
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match=r"expected a state of 2 layers of shape \(3, 5\)"):
        network(torch.randn(4, 3, 3), state)
    with pytest.raises(ValueError, match="expected a state of 2 layers"):
        network(torch.randn(4, 2, 3), RecurrentState(state.cells[:1], 4))


def test_a_bidirectional_network_takes_whole_sequences() -> None:
    network = Recurrent("lstm", 3, 5, bidirectional=True)
    _, state = network(torch.randn(4, 2, 3))
    with pytest.raises(ValueError, match="expected no state for a bidirectional network"):
        network(torch.randn(4, 2, 3), state)
