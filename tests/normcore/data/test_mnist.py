"""MNIST is split as by the authors of RBN."""

from pathlib import Path

import torch

from normcore.data import mnist


def test_last_10000_training_images_are_for_validation(datasets_dir: Path) -> None:
    splits = mnist.load(datasets_dir)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [50_000, 10_000, 10_000]
    assert splits.train.labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert splits.valid.labels[:4].tolist() == [3, 8, 6, 9]
    assert splits.test.labels[:4].tolist() == [7, 2, 1, 0]
    everything = torch.cat([splits.train.labels, splits.valid.labels])
    assert everything.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


def test_pixels_are_divided_by_255_and_nothing_else(datasets_dir: Path) -> None:
    first = mnist.load(datasets_dir).train[:1]
    x = first.sequences(torch.float64)
    assert x.shape == (784, 1, 1)
    assert (x.min().item(), x.max().item()) == (0.0, 1.0)
    assert x[5 * 28 + 12].item() == 3 / 255


def test_checksums_are_those_of_the_official_files(datasets_dir: Path) -> None:
    checksums = mnist.load(datasets_dir).checksums
    assert checksums["mnist/t10k-labels-idx1-ubyte"].startswith("ff7bcfd416de3373")
    assert len(checksums) == 4


def test_first_5000_training_images_can_be_for_validation_instead(datasets_dir: Path) -> None:
    splits = mnist.load(datasets_dir, split="first_5000_validate")
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [55_000, 5_000, 10_000]
    assert splits.valid.labels[:4].tolist() == [5, 0, 4, 1]
    together = torch.cat([splits.valid.labels, splits.train.labels])
    other = mnist.load(datasets_dir)
    assert torch.equal(together, torch.cat([other.train.labels, other.valid.labels]))


def test_images_have_one_channel_of_28_by_28(datasets_dir: Path) -> None:
    first = mnist.load(datasets_dir).train[:1]
    x = first.images(torch.float64)
    assert x.shape == (1, 1, 28, 28)
    assert x[0, 0, 5, 12].item() == 3 / 255
