"""The split of the digits never changes."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from normcore.data import digits
from normcore.data.registry import DatasetCorrupt


def test_the_splits_have_their_sizes_and_share_no_image() -> None:
    splits = digits.load()
    parts = [splits.train, splits.valid, splits.test]
    assert [len(part) for part in parts] == [1197, 300, 300]
    together = torch.cat([torch.cat([p.pixels, p.labels.unsqueeze(1)], 1) for p in parts])
    originals = load_digits()
    expected = torch.cat([torch.tensor(originals.data), torch.tensor(originals.target).unsqueeze(1)], 1)
    assert sorted(together.tolist()) == sorted(expected.long().tolist())


def test_the_shuffle_is_the_documented_one() -> None:
    """RandomState(0).permutation(1797) begins with 1081, 1707, 927."""
    originals = load_digits()
    train = digits.load().train
    assert train.pixels[:3].tolist() == originals.data[[1081, 1707, 927]].tolist()
    assert train.labels[:3].tolist() == originals.target[[1081, 1707, 927]].tolist()


def test_sequences_are_time_major_and_end_at_one() -> None:
    train = digits.load().train
    x = train[torch.tensor([5, 7])].sequences(torch.float32)
    assert x.shape == (64, 2, 1)
    assert x[:, 1, 0].tolist() == [pixel / 16 for pixel in train.pixels[7].tolist()]
    assert train.sequences(torch.float32).max() == 1


def test_every_split_has_every_class() -> None:
    splits = digits.load()
    for part in (splits.train, splits.valid, splits.test):
        assert sorted(set(part.labels.tolist())) == list(range(10))


def test_images_have_one_channel_of_8_by_8() -> None:
    train = digits.load().train
    x = train.images(torch.float32)
    assert x.shape == (1197, 1, 8, 8)
    assert x[7, 0, 2, 3] == train.pixels[7, 2 * 8 + 3] / 16


@pytest.mark.parametrize(("row", "column"), [(0, 20), (1796, 64)], ids=["a pixel", "a label"])
def test_changed_digits_are_refused(monkeypatch: pytest.MonkeyPatch, row: int, column: int) -> None:
    table = digits._table()
    changed = np.array(table)
    changed[row, column] += 1
    monkeypatch.setattr(digits, "_table", lambda: changed)
    with pytest.raises(DatasetCorrupt, match=r"'digits': scikit-learn's copy is not the genuine one .*install"):
        digits.load()
