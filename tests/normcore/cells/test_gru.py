import torch

from normcore.cells.gru import GRU
from normcore.norms import build
from normcore.recurrent import load_torch_state_dict
from normcore.spec.cells import gru as spec
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.none import NoNorm
from tests.normcore.networks import recurrent


def test_gru_without_a_norm_equals_torch_without_the_second_candidate_bias() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.GRU(3, 5)
    ours = recurrent("gru", 3, 5)
    with torch.no_grad():
        theirs.get_parameter("bias_hh_l0")[10:] = 0
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(20, 4, 3)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0], rtol=0, atol=1e-6)


def test_layer_norm_adds_12_parameters_per_unit() -> None:
    plain, normalized = (GRU(spec.GRU(hidden_size=7), 3, build(norm)) for norm in (NoNorm(), LayerNorm()))
    assert sum(p.numel() for p in normalized.parameters()) - sum(p.numel() for p in plain.parameters()) == 12 * 7


def test_biases_are_inside_the_input_norms_by_default() -> None:
    """The code of LN's authors does the same. A constant that is added to all biases then has no effect."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4)
    moved = {}
    for norm in ({"method": "layer_norm"}, {"method": "layer_norm", "bias": "outside"}):
        cell = recurrent("gru", 4, 5, norm=norm).cells[0]
        assert isinstance(cell, GRU)
        before = cell.input_term(x, 0)
        with torch.no_grad():
            cell.bias.add_(2)
        moved[norm.get("bias")] = (cell.input_term(x, 0) - before).abs().max().item()
    assert moved[None] < 1e-5
    assert moved["outside"] > 1.9
