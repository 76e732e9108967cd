"""Population statistics from running averages."""

import pytest
import torch

from normcore.norms import build
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.population import wants_population
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from tests.normcore.networks import recurrent, taking_in

RUNNING = {"method": "recurrent_batch_norm", "population": "running", "momentum": 0.25}


def test_forward_pass_leaves_moments_only_for_running_averages() -> None:
    a = torch.tensor([[[0.0], [2.0]], [[4.0], [8.0]]])
    norm = build(RecurrentBatchNorm(population="running")).norm(1, "input")
    assert isinstance(norm, BatchStatistics)
    norm(a, 0)
    norm(a[0], 2)
    moments = norm.moments()
    assert moments is not None
    assert moments.squeeze(-1).tolist() == [[1, 6, 1], [1, 4, 1]]  # means and variances of three steps
    assert norm.moments() is None
    assert len(norm.running_mean) == 0
    unwanted = build(RecurrentBatchNorm()).norm(1, "input")
    assert isinstance(unwanted, BatchStatistics)
    unwanted(a, 0)
    assert unwanted.moments() is None


def test_the_newest_minibatch_has_the_weight_of_the_momentum() -> None:
    norm = build(RecurrentBatchNorm(population="running", momentum=0.25)).norm(1, "input")
    taking_in(norm, torch.tensor([[[0.0], [2.0]], [[4.0], [8.0]]]))
    assert norm.get_buffer("running_mean").flatten().tolist() == [1, 6]  # a new step starts with its first statistics
    assert norm.get_buffer("running_var").flatten().tolist() == [1, 4]
    taking_in(norm, torch.tensor([[[5.0], [5.0]], [[6.0], [6.0]], [[1.0], [3.0]]]))
    assert norm.get_buffer("running_mean").flatten().tolist() == [0.75 * 1 + 0.25 * 5, 6, 2]
    assert norm.get_buffer("running_var").flatten().tolist() == [0.75, 3, 1]


def test_averages_hold_variances_that_float32_cannot_hold() -> None:
    norm = build(RecurrentBatchNorm(population="running", momentum=0.25)).norm(1, "input")
    taking_in(norm, torch.tensor([[[0.0], [2.0]]]))
    taking_in(norm, torch.tensor([[[-1e25], [1e25]]]))
    assert norm.get_buffer("running_var").item() == pytest.approx(0.25e50, rel=1e-6)
    taking_in(norm, torch.tensor([[[1.0], [3.0]]]))
    assert norm.get_buffer("running_var").item() == pytest.approx(0.1875e50, rel=1e-6)


def test_later_steps_use_the_statistics_of_the_last_known_step() -> None:
    """The statistics do not start again from the first step."""
    norm = build(RecurrentBatchNorm(population="running")).norm(1, "input")
    assert isinstance(norm, BatchStatistics)
    taking_in(norm, torch.tensor([[[0.0], [2.0]], [[4.0], [8.0]], [[4.0], [10.0]]]))
    for first, means, variances in [(0, [1, 6, 7, 7, 7], [1, 4, 9, 9, 9]), (3, [7, 7], [9, 9]), (7, [7], [9])]:
        mean, var = norm.population(first, len(means))
        assert mean.flatten().tolist() == means
        assert var.flatten().tolist() == variances


def test_steps_one_by_one_give_the_same_averages_as_all_at_once() -> None:
    torch.manual_seed(0)
    batches = torch.randn(3, 4, 5, 2)  # (passes, T, B, F)
    found = []
    for at_once in (True, False):
        norm = build(RecurrentBatchNorm(population="running")).norm(2, "input")
        for a in batches:
            for t, part in [(0, a)] if at_once else list(enumerate(a)):
                taking_in(norm, part, t)
        found.append((norm.running_mean, norm.running_var))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_evaluation_uses_the_running_averages_of_training(cell: str) -> None:
    torch.manual_seed(0)
    network = recurrent(cell, 3, 5, norm=RUNNING)
    x = torch.randn(4, 64, 3)
    for _ in range(40):
        trained, _ = network(x)
    assert not wants_population(network)
    torch.testing.assert_close(network.eval()(x)[0], trained, rtol=0, atol=1e-5)
    assert wants_population(recurrent(cell, 3, 5, norm={"method": "recurrent_batch_norm"}))


@pytest.mark.parametrize("at_once", [True, False])
def test_shared_statistics_average_the_running_averages_of_all_steps(at_once: bool) -> None:
    options = RecurrentBatchNorm(population="running", statistics="shared", gain_init=1.0, eps=0.5)
    norm = build(options).norm(1, "input")
    a = torch.tensor([[[0.0], [2.0]], [[4.0], [8.0]]])
    for t, part in [(0, a)] if at_once else list(enumerate(a)):
        taking_in(norm, part, t)
    norm.eval()
    expected = (7 - 3.5) / 3**0.5  # means 1 and 6, variances 1 and 4
    assert [norm(torch.tensor([[7.0]]), t).item() for t in (0, 1, 5)] == pytest.approx([expected] * 3)
    assert norm(torch.full((3, 1, 1), 7.0), 0).flatten().tolist() == pytest.approx([expected] * 3)


def test_statistics_that_skip_the_first_steps_are_refused() -> None:
    norm = build(RecurrentBatchNorm(population="running")).norm(1, "input")
    with pytest.raises(ValueError, match="expected statistics of step 0, received step 5; pass sequences from the"):
        taking_in(norm, torch.randn(4, 1), 5)


def test_means_and_variances_of_unequal_numbers_of_steps_are_not_loaded() -> None:
    norm = build(RecurrentBatchNorm()).norm(1, "input")
    state = {**norm.state_dict(), "running_mean": torch.zeros(4, 1), "running_var": torch.ones(2, 1)}
    with pytest.raises(RuntimeError, match="running_mean has 4 steps, running_var 2"):
        norm.load_state_dict(state)
