"""A classifier's readout sees a state that has read everything."""

import pytest
import torch

from normcore.models.classifier import EVALUATION_STEPS, SequenceClassifier
from normcore.norms.population import population_statistics
from tests.normcore.networks import recurrent

LENGTH = 2 * EVALUATION_STEPS + 3


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("changed", [0, 8])
def test_the_first_and_the_last_input_both_reach_every_half_of_the_readout(bidirectional: bool, changed: int) -> None:
    torch.manual_seed(0)
    model = SequenceClassifier(recurrent("rnn", 1, 4, bidirectional=bidirectional), 3).double()
    x = torch.randn(9, 2, 1, dtype=torch.float64)
    other = x.clone()
    other[changed] += 1
    seen: list[torch.Tensor] = []
    model.readout.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(x)
    model(other)
    assert seen[0].shape == (2, 8 if bidirectional else 4)
    assert (seen[0] != seen[1]).all()


@pytest.mark.parametrize("gradient", [True, False])
def test_both_ways_it_reads_the_last_layers_forward_state_at_the_end_and_backward_state_at_the_start(
    gradient: bool,
) -> None:
    torch.manual_seed(0)
    model = SequenceClassifier(recurrent("lstm", 1, 4, num_layers=2, bidirectional=True), 3).double()
    x = torch.randn(9, 2, 1, dtype=torch.float64)
    with torch.set_grad_enabled(gradient):
        y, _ = model.recurrent(x)
        logits = model(x)
    expected = model.readout(torch.cat([y[-1, :, :4], y[0, :, 4:]], 1))
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-14)


def test_reading_in_pieces_without_a_gradient_gives_the_same_logits() -> None:
    torch.manual_seed(0)
    model = SequenceClassifier(recurrent("lstm", 1, 4, num_layers=2), 3).double()
    x = torch.randn(LENGTH, 2, 1, dtype=torch.float64)
    with torch.no_grad():
        in_pieces = model(x)
    torch.testing.assert_close(in_pieces, model(x), rtol=0, atol=1e-14)


def test_the_readout_begins_orthogonal_and_without_bias() -> None:
    readout = SequenceClassifier(recurrent("rnn", 1, 20), 10).readout
    torch.testing.assert_close(readout.weight @ readout.weight.T, torch.eye(10))
    assert readout.bias.tolist() == [0.0] * 10


def test_where_statistics_run_over_time_examples_come_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five thousand whole sequences at once would not fit into memory."""
    monkeypatch.setattr("normcore.models.classifier.EVALUATION_EXAMPLES", 3)
    torch.manual_seed(0)
    model = SequenceClassifier(recurrent("lstm", 2, 5, norm={"method": "sequence_batch_norm"}), 4).eval()
    x = torch.randn(6, 7, 2)
    seen: list[int] = []
    model.recurrent.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[1]))
    with torch.no_grad(), population_statistics(model):
        model(x)
    with torch.no_grad():
        grouped = model(x)
    assert seen == [3, 3, 1] * 2
    torch.testing.assert_close(grouped, model(x))
