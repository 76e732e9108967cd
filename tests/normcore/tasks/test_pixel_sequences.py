"""Pixel tasks read the pixels in the order of the paper."""

from typing import Any

import pytest
import torch

from normcore import tasks
from normcore.data import digits
from normcore.data.images import ImageSplits
from normcore.models.build import Build
from normcore.spec.tasks.benchmark import Benchmark
from normcore.spec.tasks.pixels import PermutedDigits, SequentialDigits
from normcore.tasks.pixel_sequences import PixelSequences, pixel_order
from normcore.tasks.task import Resources, Task
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")
RESOURCES = Resources(None, CPU, torch.float32)


def built(options: Benchmark) -> Task[Any]:
    return tasks.build(options, RESOURCES)


def population(options: Benchmark) -> list[torch.Tensor]:
    """Training images as the model reads them, in batches (T, B, 1)."""
    task, seen = built(options), []
    model = FirstPixel()
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    for batch in task.population():
        task.observe(model, batch)
    return seen


def test_order_is_a_permutation_decided_by_its_seed_only() -> None:
    order = pixel_order(PermutedDigits(permutation_seed=3), 64)
    assert sorted(order.tolist()) == list(range(64))
    assert order.tolist() == pixel_order(PermutedDigits(permutation_seed=3), 64).tolist()
    assert order.tolist() != pixel_order(PermutedDigits(permutation_seed=4), 64).tolist()


def test_seed_zero_gives_the_permutation_of_numpy() -> None:
    """RandomState(0).permutation(64) begins with 45, 29, 43."""
    assert pixel_order(PermutedDigits(), 64).tolist()[:3] == [45, 29, 43]


def test_the_legacy_index_map_draws_with_replacement() -> None:
    order = pixel_order(PermutedDigits(legacy_index_map=True), 784)
    distinct = len(set(order.tolist()))
    assert 470 < distinct < 520  # 784 (1 - 1/e) is 496


def test_permuted_digits_are_the_digits_in_the_permuted_order() -> None:
    (plain,), (permuted,) = population(SequentialDigits()), population(PermutedDigits(permutation_seed=3))
    assert torch.equal(permuted, plain[pixel_order(PermutedDigits(permutation_seed=3), 64)])


def test_the_population_is_the_training_set_in_one_batch() -> None:
    (x,) = population(SequentialDigits())
    assert torch.equal(x, digits.load().train.sequences(torch.float32))


def test_every_split_can_be_cut_to_its_first_examples() -> None:
    task, splits = built(SequentialDigits(examples=150)), digits.load()
    [x] = task.population()
    assert torch.equal(x.pixels, splits.train.pixels[:150])
    assert len(torch.cat(list(task.epoch(torch.Generator(), 100)))) == 150
    model = FirstPixel()
    assert task.validate(model)["accuracy"] == (splits.valid.labels[:150] == 3).double().mean().item()
    assert task.test(model)["accuracy"] == (splits.test.labels[:150] == 3).double().mean().item()


def test_an_epoch_is_a_shuffle_of_the_training_set() -> None:
    batches = built(SequentialDigits()).epoch(torch.Generator().manual_seed(0), 100)
    assert [len(batch) for batch in batches] == [100] * 11 + [97]
    examples = torch.cat(list(batches))
    assert sorted(examples.tolist()) == list(range(1197))
    assert examples.tolist() != list(range(1197))


class FirstPixel(torch.nn.Module):
    """Model that answers class 3 for every image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(torch.full((x.shape[1],), 3), 10).double()


def test_scores_are_means_over_the_split() -> None:
    task = built(SequentialDigits())
    splits = digits.load()
    share = (splits.valid.labels == 3).double().mean().item()
    nats = torch.logsumexp(torch.tensor([0.0] * 9 + [1.0], dtype=torch.float64), 0).item()
    scores = task.validate(FirstPixel())
    assert scores["accuracy"] == share
    assert scores["loss"] == pytest.approx(nats - share, abs=1e-12)
    assert task.test(FirstPixel()) == {"accuracy": (splits.test.labels == 3).double().mean().item()}


def test_large_splits_are_scored_in_batches_that_count_by_their_size() -> None:
    splits = digits.load()
    exchanged = ImageSplits(splits.valid, splits.train, splits.test, {})
    task = PixelSequences(SequentialDigits(), RESOURCES, exchanged)
    assert task.validate(FirstPixel())["accuracy"] == (splits.train.labels == 3).sum().item() / 1197


def test_the_loss_is_cross_entropy_on_the_last_step() -> None:
    torch.manual_seed(0)
    spec = training_spec({"task": {"name": "permuted_digits", "profile": "smoke"}})
    task = built(spec.task)
    model = task.model(Build(spec.model, spec.norm, spec.training.kernel, CPU, torch.float32))
    examples = torch.tensor([5, 900])
    train = digits.load().train
    x = train.sequences(torch.float32)[pixel_order(PermutedDigits(), 64)][:, examples]
    expected = -model(x).log_softmax(-1)[[0, 1], train.labels[examples]].mean()
    loss = task.loss(model, task.batch(examples, torch.Generator()))
    torch.testing.assert_close(loss.total, expected)
    assert not loss.parts
