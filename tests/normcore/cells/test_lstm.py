import torch

from normcore.cells.lstm import LSTM
from normcore.norms import build
from normcore.recurrent import load_torch_state_dict
from normcore.spec.cells import lstm as spec
from normcore.spec.methods.none import NoNorm
from tests.normcore.networks import recurrent


def test_lstm_without_a_norm_equals_torch() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.LSTM(3, 5)
    ours = recurrent("lstm", 3, 5)
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(20, 4, 3)
    y, (h, c) = theirs(x)
    ours_y, ours_state = ours(x)
    torch.testing.assert_close(ours_y, y, rtol=0, atol=1e-6)
    torch.testing.assert_close(ours_state.cells[0].h, h[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(ours_state.cells[0].c, c[0], rtol=0, atol=1e-6)


def test_only_the_forget_gate_starts_with_a_bias() -> None:
    bias = LSTM(spec.LSTM(hidden_size=5, forget_bias=1.5), 3, build(NoNorm())).bias.detach().view(4, 5)
    assert bias[1].eq(1.5).all()
    assert bias[[0, 2, 3]].eq(0).all()
