"""The readout of a classifier reads a state that depends on all inputs."""

import pytest
import torch

from normcore.models.classifier import EVALUATION_STEPS, SequenceClassifier
from normcore.norms.population import population_statistics
from tests.normcore.networks import recurrent

LENGTH = 2 * EVALUATION_STEPS + 3


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("changed", [0, 8])
def test_both_halves_of_the_readout_depend_on_the_first_and_the_last_input(bidirectional: bool, changed: int) -> None:
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
def test_bidirectional_readout_uses_the_last_forward_and_the_first_backward_state(
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


def test_readout_starts_orthogonal_with_a_bias_of_zero() -> None:
    readout = SequenceClassifier(recurrent("rnn", 1, 20), 10).readout
    torch.testing.assert_close(readout.weight @ readout.weight.T, torch.eye(10))
    assert readout.bias.tolist() == [0.0] * 10


def test_examples_are_evaluated_in_groups_for_statistics_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five thousand sequences at once would not fit into memory."""
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
