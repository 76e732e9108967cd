"""Smallest batch that trains: made-up results, an evaluation in numpy, and trainings on digits."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from normcore.analyses.report import Resources
from normcore.analyses.smallest_batch import (
    THRESHOLD,
    BatchResult,
    accuracy,
    prepare,
    rows,
    smallest_that_trains,
    train_at,
    training_order,
)
from normcore.data import digits
from normcore.data.images import ImageSplits
from normcore.models.classifier import SequenceClassifier
from normcore.spec import AnalysisSpec, resolve
from normcore.spec.cells.lstm import LSTM
from normcore.spec.cells.rnn import RNN
from normcore.spec.methods.batch_norm import BatchNorm
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from tests.normcore.networks import recurrent

MODEL = RNN(hidden_size=32)
LAYER_NORM = LayerNorm(sites=("sum",))
BATCH_NORM = RecurrentBatchNorm(sites=("sum",))
UPDATES = 600


@pytest.fixture(scope="module")
def splits() -> ImageSplits:
    return digits.load()


def results(*accuracies: float | None) -> list[BatchResult]:
    return [BatchResult(2**n, accuracy, None) for n, accuracy in enumerate(accuracies)]


def test_the_smallest_is_the_first_to_reach_the_threshold() -> None:
    assert smallest_that_trains(results(None, 0.1, THRESHOLD, 0.9)) == 4
    assert smallest_that_trains(results(THRESHOLD - 0.01, None, 0.9, 0.1)) == 4
    assert smallest_that_trains(reversed(results(0.1, 0.9, 0.9, 0.9))) == 2


def test_smallest_batch_is_none_if_no_size_reaches_the_threshold() -> None:
    assert smallest_that_trains(results(None, 0.0, THRESHOLD - 1e-9)) is None
    assert smallest_that_trains([BatchResult(1, None, "too small")]) is None


def test_threshold_is_above_the_accuracy_of_guessing(splits: ImageSplits) -> None:
    """Guessing has an accuracy of 1/10 with a standard deviation of 0.017; always one class has at most 1/8."""
    assert 0.1 + 5 * np.sqrt(0.1 * 0.9 / 300) < THRESHOLD
    assert splits.valid.labels.bincount().max() / 300 < THRESHOLD


def test_a_step_reads_a_row_of_pixels(splits: ImageSplits) -> None:
    images = load_digits().images  # (1797, 8, 8)
    order = np.random.RandomState(0).permutation(1797)
    expected = images[order[1197:1497]] / 16
    np.testing.assert_array_equal(rows(splits.valid).numpy().transpose(1, 0, 2), expected.astype(np.float32))


def test_layer_norm_trains_with_a_batch_of_1(splits: ImageSplits) -> None:
    """Five seeds were measured, with accuracies from 0.64 to 0.77."""
    alone = train_at(MODEL, LAYER_NORM, 1, 0, splits, UPDATES)
    assert alone.refused is None
    assert alone.accuracy is not None
    assert alone.accuracy > 0.55


def test_batch_statistics_are_refused_with_a_batch_of_1_and_train_with_more(splits: ImageSplits) -> None:
    alone, some = (train_at(MODEL, BATCH_NORM, batch_size, 0, splits, UPDATES) for batch_size in (1, 8))
    assert alone.accuracy is None
    assert alone.refused is not None
    assert alone.refused.startswith("expected 2 or more examples to take statistics over, received 1")
    assert some.refused is None
    assert some.accuracy is not None
    assert some.accuracy > 0.8
    assert smallest_that_trains([alone, some]) == 8


def test_all_sizes_are_trained_and_the_finding_is_the_smallest_of_them(splits: ImageSplits) -> None:
    spec = resolve(
        {
            "task": {"name": "smallest_batch", "updates": 30},
            "model": {"cell": "rnn"},
            "norm": {"method": "recurrent_batch_norm"},
        }
    )
    assert isinstance(spec, AnalysisSpec)
    reports = [piece() for piece in prepare(spec, 0, Resources(torch.device("cpu"))).pieces]
    found = {finding.name: finding for report in reports for finding in report.findings}
    expected = [train_at(MODEL, BATCH_NORM, 2**n, 0, splits, 30) for n in range(7)]
    assert [found[f"batch of {2**n}"].value for n in range(7)] == [result.accuracy for result in expected]
    assert [name for name, finding in found.items() if finding.verdict == "refused"] == ["batch of 1"]
    assert found["smallest_batch"].value == smallest_that_trains(expected) in (4, 8, 16, 32, 64)
    curve = [point for report in reports for point in report.curves.get("valid.accuracy", [])]
    assert curve == [(result.batch_size, result.accuracy) for result in expected[1:]]


def test_the_seed_decides_and_the_generator_is_left_alone(splits: ImageSplits) -> None:
    before = torch.get_rng_state()
    first, again, other = (train_at(MODEL, LAYER_NORM, 4, seed, splits, 100) for seed in (1, 1, 2))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), before)


def test_batches_of_all_sizes_are_full_and_from_the_same_shuffle() -> None:
    """1,197 examples are 18 full batches of 64. Smaller sizes use the same examples."""
    drawn = []
    for batch_size in (2, 64):
        order = training_order(1197, batch_size, seed=0)
        drawn.append([order.next_batch() for _ in range(1152 // batch_size)])
        assert {len(batch) for batch in drawn[-1]} == {batch_size}
        assert len(order.next_batch()) == batch_size
    assert torch.equal(torch.cat(drawn[0]), torch.cat(drawn[1]))
    assert len(set(torch.cat(drawn[0]).tolist())) == 1152


def test_a_loss_that_is_not_finite_has_no_accuracy(splits: ImageSplits) -> None:
    """Terms of two sites overflow, so the gates get inf - inf."""
    result = train_at(LSTM(hidden_size=32), LayerNorm(gain_init=3e38), 64, 0, splits, UPDATES)
    assert result == BatchResult(64, None, None)


def test_logits_that_are_not_finite_have_no_accuracy(splits: ImageSplits) -> None:
    model = SequenceClassifier(recurrent("rnn", 8, 4), 10)
    torch.nn.init.constant_(model.readout.bias, torch.nan)
    assert accuracy(model, splits) is None


def test_evaluation_uses_the_statistics_of_all_training_images(splits: ImageSplits) -> None:
    """The expected labels are computed step by step in numpy, with statistics of the summed inputs of training images.

    Shifts and scales of the states are so large that statistics of the validation batch would give other labels.
    """
    torch.manual_seed(0)
    model = SequenceClassifier(recurrent("rnn", 8, 16, norm=RecurrentBatchNorm(sites=("sum",), gain_init=1.0)), 10)
    w_x, w_h, b = (
        getattr(model.recurrent.cells[0], n).detach().double().numpy() for n in ("weight_ih", "weight_hh", "bias")
    )
    w_y = model.readout.weight.detach().double().numpy()
    sets = [rows(images).double().numpy() for images in (splits.train, splits.valid)]
    states = [np.zeros((x.shape[1], 16)) for x in sets]
    for t in range(8):
        train, valid = (x[t] @ w_x.T + h @ w_h.T for x, h in zip(sets, states, strict=True))
        states = [np.tanh((a - train.mean(0)) / np.sqrt(train.var(0) + 1e-5) + b) for a in (train, valid)]
    expected = ((states[1] @ w_y.T).argmax(1) == splits.valid.labels.numpy()).mean()
    assert accuracy(model, splits) == pytest.approx(expected, abs=1e-9)


def test_method_without_a_place_in_the_model_raises_an_error(splits: ImageSplits) -> None:
    with pytest.raises(ValueError, match=r"norm\.method: batch_norm has no place in rnn"):
        train_at(MODEL, BatchNorm(), 8, 0, splits, 1)
