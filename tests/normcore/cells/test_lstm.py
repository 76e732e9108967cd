import pytest
import torch

from normcore.cells.lstm import LSTM, LSTMState
from normcore.norms import build
from normcore.recurrent import Recurrent
from normcore.spec.norm import LayerNorm, NoNorm, RecurrentBatchNorm

READOUT = 100 * 10 + 10


def test_without_normalization_it_is_torchs_lstm() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.LSTM(3, 5)
    ours = Recurrent("lstm", 3, 5)
    ours.load_torch_state_dict(theirs.state_dict())
    x = torch.randn(20, 4, 3)
    y, (h, c) = theirs(x)
    ours_y, ours_state = ours(x)
    torch.testing.assert_close(ours_y, y, rtol=0, atol=1e-6)
    torch.testing.assert_close(ours_state.cells[0].h, h[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(ours_state.cells[0].c, c[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "parameters"), [("none", 42_110), ("recurrent_batch_norm", 43_010), ("layer_norm", 43_810)]
)
def test_on_pixels_the_parameters_are_as_many_as_in_the_papers_code(method: str, parameters: int) -> None:
    """RBN section 5.1: 42,110 and 43,010; LN has a shift at every norm of 4H, 800 more."""
    network = Recurrent("lstm", 1, 100, norm={"method": method})
    assert sum(p.numel() for p in network.parameters()) + READOUT == parameters


def test_on_characters_the_parameters_are_as_many_as_in_the_papers_code() -> None:
    """RBN section 5.2: 4,257,050 with the read-out of 1000 x 50 + 50, and 9,000 more with batch norm."""
    with torch.device("meta"):
        plain = LSTM(50, 1000, build(NoNorm()))
        normalized = LSTM(50, 1000, build(RecurrentBatchNorm()))
    count = sum(p.numel() for p in plain.parameters())
    assert count + 50_050 == 4_257_050
    assert sum(p.numel() for p in normalized.parameters()) - count == 9_000


def test_only_the_forget_gate_starts_with_a_bias() -> None:
    bias = LSTM(3, 5, build(NoNorm()), forget_bias=1.5).bias.detach().view(4, 5)
    assert bias[1].eq(1.5).all()
    assert bias[[0, 2, 3]].eq(0).all()


@pytest.mark.parametrize("options", [LayerNorm(), RecurrentBatchNorm()], ids=lambda o: o.method)
def test_the_cell_is_carried_raw(options: LayerNorm | RecurrentBatchNorm) -> None:
    """The gain of the read-out changes h', never c'."""
    torch.manual_seed(0)
    cell = LSTM(3, 5, build(options))
    term, state = cell.input_term(torch.randn(1, 4, 3), 0)[0], LSTMState(torch.randn(4, 5), torch.randn(4, 5))
    before = cell.step(term, state, 0)
    with torch.no_grad():
        cell.norm_c.weight *= 10
    after = cell.step(term, state, 0)
    assert torch.equal(after.c, before.c)
    assert not torch.allclose(after.h, before.h)


def test_layer_norm_takes_the_four_gates_together() -> None:
    torch.manual_seed(0)
    cell = LSTM(30, 50, build(LayerNorm(eps=1e-12))).double()
    with torch.no_grad():
        cell.bias.zero_()
        cell.weight_ih[:50] *= 5  # gates on different scales
    x = torch.randn(1, 4, 30, dtype=torch.float64)
    a = cell.input_term(x, 0)[0]
    torch.testing.assert_close(a.var(1, correction=0), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-9)
    gates = a.view(4, 4, 50)
    per_gate = torch.nn.functional.layer_norm(gates, (50,), eps=1e-12)
    assert not torch.allclose(gates, per_gate, rtol=0, atol=0.1)
    assert (gates.var(2, correction=0) - 1).abs().min() > 0.1
