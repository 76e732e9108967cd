"""Sequences side by side, and what follows the shorter ones."""

import pytest
import torch

from normcore.models.words import Words

CPU = torch.device("cpu")
SEQUENCES = [torch.tensor([3, 4]), torch.tensor([5, 6, 7, 8, 9]), torch.tensor([2])]


@pytest.mark.parametrize(
    ("cyclic", "codes"),
    [
        (False, [[3, 4, 0, 0, 0], [5, 6, 7, 8, 9], [2, 0, 0, 0, 0]]),
        (True, [[3, 4, 3, 4, 3], [5, 6, 7, 8, 9], [2, 2, 2, 2, 2]]),
    ],
)
def test_shorter_ones_are_followed_by_zeros_or_by_themselves(cyclic: bool, codes: list[list[int]]) -> None:
    words = Words.of(SEQUENCES, CPU, cyclic=cyclic)
    assert words.codes.T.tolist() == codes
    assert words.lengths.tolist() == [2, 5, 1]
    assert words.longest == 5
    assert words.there.T.tolist() == [[True, True, False, False, False], [True] * 5, [True, False, False, False, False]]
