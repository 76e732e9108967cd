import torch

from normcore.cells.cell import HiddenState
from normcore.cells.rnn import RNN
from normcore.norms import build
from normcore.recurrent import load_torch_state_dict
from normcore.spec.cells import rnn as spec
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.none import NoNorm
from tests.normcore.networks import recurrent


def test_rnn_without_a_norm_equals_torch() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.RNN(3, 5)
    ours = recurrent("rnn", 3, 5)
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(20, 4, 3)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0], rtol=0, atol=1e-6)


def test_layer_norm_adds_a_single_gain_for_the_sum_of_both_terms() -> None:
    plain, normalized = (RNN(spec.RNN(hidden_size=5), 3, build(norm)) for norm in (NoNorm(), LayerNorm(sites=("sum",))))
    assert {n for n, _ in normalized.named_parameters()} - {n for n, _ in plain.named_parameters()} == {
        "norm_sum.weight"
    }


def test_the_sum_is_normalized_over_the_units() -> None:
    torch.manual_seed(0)
    cell = RNN(spec.RNN(hidden_size=50), 3, build(LayerNorm(sites=("sum",))))
    x, h = torch.randn(1, 4, 3), torch.randn(4, 50)
    a = torch.atanh(cell.step(cell.input_term(x, 0)[0], HiddenState(h), 0).h)
    torch.testing.assert_close(a.var(1, correction=0), torch.ones(4), rtol=0, atol=1e-3)
