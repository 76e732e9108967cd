"""A task declares the number of test items that its data has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normcore.data import captions, cifar10, digits, mnist, questions, sentence_sets
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark


def task(name: str, **options: Any) -> Benchmark:
    return BENCHMARKS[name].model_validate({"name": name, "profile": "small", **options})


@pytest.mark.parametrize(
    ("options", "metric", "items"),
    [
        ({"name": "permuted_digits"}, "accuracy", 300),
        ({"name": "permuted_digits", "examples": 150}, "accuracy", 150),
        ({"name": "permuted_digits", "examples": 900}, "accuracy", 300),
        ({"name": "permuted_digits"}, "loss", None),
        ({"name": "sequential_mnist"}, "accuracy", 10_000),
        ({"name": "feedforward", "dataset": "digits"}, "error_rate", 300),
        ({"name": "convnet", "dataset": "cifar10_subset"}, "accuracy", 1_000),
        ({"name": "convnet", "dataset": "cifar10"}, "error_rate", 10_000),
        ({"name": "char_lm", "test_chars": 1000}, "accuracy", 999),
        ({"name": "char_lm", "test_chars": None}, "accuracy", None),
        ({"name": "char_lm", "test_chars": 1000}, "bits_per_char", None),
        ({"name": "attentive_reader", "dataset": "cnn"}, "error_rate", 3_198),
        ({"name": "attentive_reader", "dataset": "cnn", "examples": 20}, "error_rate", 20),
        ({"name": "attentive_reader", "dataset": "cnn_sample", "examples": 20}, "error_rate", 10),
        ({"name": "order_embedding", "folds": 5}, "caption_r10", 5_000),
        ({"name": "order_embedding", "folds": 3}, "caption_r10", 4_998),
        ({"name": "order_embedding", "dataset": "flickr8k_1000", "folds": 1}, "image_recall", 500),
        ({"name": "order_embedding"}, "image_mean_rank", None),
        ({"name": "order_embedding"}, "loss", None),
        ({"name": "skip_thoughts"}, "mr", 10_662),
        ({"name": "skip_thoughts", "examples": 4_001}, "cr", 1_366 + 2_000),
        ({"name": "skip_thoughts"}, "sick_pearson", None),
        ({"name": "draw"}, "nats", None),
    ],
)
def test_number_of_test_items_is_known_for_each_metric(options: dict[str, Any], metric: str, items: int | None) -> None:
    assert task(**options).test_items(metric) == items


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"name": "draw", "dataset": "digits", "examples": None}, 1_000),
        ({"name": "draw", "dataset": "digits", "examples": 200}, 200),
        ({"name": "draw", "dataset": "digits", "examples": 1_500}, 1_000),
        ({"name": "handwriting", "dataset": "iam_ondb_packed", "examples": None}, 100),
        ({"name": "handwriting", "dataset": "iam_ondb_packed", "examples": 40}, 40),
        ({"name": "permuted_digits", "examples": 150}, 150),
        ({"name": "permuted_digits", "examples": None}, 1_197),
        ({"name": "attentive_reader", "dataset": "cnn_sample", "examples": 20}, 100),
    ],
)
def test_least_number_of_training_examples_is_known(options: dict[str, Any], count: int) -> None:
    """The reader's ``examples`` limit validation and test alone."""
    assert task(**options).least_examples() == count


def test_digits_have_the_declared_number_of_test_images() -> None:
    assert task("permuted_digits").test_items("accuracy") == len(digits.load().test)


@pytest.mark.parametrize(
    ("options", "metric", "count"),
    [
        ({"name": "sequential_mnist"}, "accuracy", lambda data: len(mnist.load(data).test)),
        (
            {"name": "convnet", "dataset": "cifar10_subset"},
            "accuracy",
            lambda data: len(cifar10.load_subset(data).test),
        ),
        (
            {"name": "attentive_reader", "dataset": "cnn_sample"},
            "error_rate",
            lambda data: len(questions.load("cnn_sample", data).test),
        ),
        (
            {"name": "attentive_reader", "dataset": "novels"},
            "error_rate",
            lambda data: len(questions.load("gutenberg_books", data).test),
        ),
        (
            {"name": "order_embedding", "dataset": "flickr8k_1000", "folds": 1},
            "caption_r1",
            lambda data: len(captions.load("flickr8k_1000", data).test.captions),
        ),
        *(
            ({"name": "skip_thoughts"}, name, lambda data, name=name: _sentences(data, name))
            for name in sentence_sets.OPINIONS
        ),
    ],
)
def test_data_sets_have_the_declared_number_of_test_items(
    options: dict[str, Any], metric: str, count: Callable[[Path], int], datasets_dir: Path
) -> None:
    assert task(**options).test_items(metric) == count(datasets_dir)


def _sentences(datasets_dir: Path, name: str) -> int:
    return sum(map(len, sentence_sets.load(datasets_dir).opinions[name]))
