import pytest
import torch

from normcore.norms import build
from normcore.norms.normalization import Identity, Shift
from normcore.norms.population import population_statistics
from normcore.norms.sequence_batch_norm import SequenceBatchNormAtSite
from normcore.spec.methods.sequence_batch_norm import SequenceBatchNorm
from tests.normcore.networks import recurrent, taking_in

METHOD = {"method": "sequence_batch_norm"}


def test_output_is_the_equation_over_all_steps_without_padding() -> None:
    torch.manual_seed(0)
    norm = build(SequenceBatchNorm(eps=1e-3, gain_init=0.5)).norm(3, "input").double()
    a = torch.randn(4, 2, 3, dtype=torch.float64)
    mask = torch.tensor([[True, True], [True, True], [True, False], [True, False]])
    normalized = norm(a, 0, mask)
    rows = [a[t, n] for t in range(4) for n in range(2) if mask[t, n]]
    mean = sum(rows) / 6
    var = sum((row - mean) ** 2 for row in rows) / 6
    torch.testing.assert_close(normalized, 0.5 * (a - mean) / (var + 1e-3) ** 0.5, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_only_the_input_term_is_normalized(cell: str) -> None:
    built = recurrent(cell, 3, 5, norm=METHOD).cells[0]
    assert isinstance(built.norm_x, SequenceBatchNormAtSite)
    assert isinstance(built.norm_h, Identity)
    if cell == "lstm":
        assert isinstance(built.norm_c, Shift)


def test_the_population_is_the_average_of_the_minibatches() -> None:
    norm = build(SequenceBatchNorm(eps=1e-12)).norm(1, "input")
    with population_statistics(norm):
        taking_in(norm, torch.tensor([[[0.0], [2.0]], [[4.0], [6.0]]]))
        taking_in(norm, torch.tensor([[[10.0], [12.0]]]))
    assert norm.get_buffer("running_mean").tolist() == [[7.0]]
    assert norm.get_buffer("running_var").tolist() == [[3.0]]
    torch.testing.assert_close(norm.eval()(torch.tensor([[7.0 + 3.0**0.5]]), 5), torch.tensor([[1.0]]))


def test_single_step_of_a_single_example_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected 2 or more steps.*received 1"):
        recurrent("lstm", 3, 5, norm=METHOD)(torch.randn(1, 1, 3))
