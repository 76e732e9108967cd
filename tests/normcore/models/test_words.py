"""Batches of sequences, and the padding of shorter sequences."""

import torch

from normcore.models.words import Words

SEQUENCES = [torch.tensor([3, 4]), torch.tensor([5, 6, 7, 8, 9]), torch.tensor([2])]
WORDS = Words.of(SEQUENCES, torch.device("cpu"))


def test_shorter_sequences_are_padded_with_zeros() -> None:
    assert WORDS.codes.T.tolist() == [[3, 4, 0, 0, 0], [5, 6, 7, 8, 9], [2, 0, 0, 0, 0]]
    assert WORDS.lengths.tolist() == [2, 5, 1]
    assert WORDS.longest == 5
    assert WORDS.there.T.tolist() == [[True, True, False, False, False], [True] * 5, [True, False, False, False, False]]


def test_places_index_the_words_without_padding() -> None:
    assert torch.equal(WORDS.codes.flatten()[WORDS.places], WORDS.codes[WORDS.there])
    assert len(WORDS.places) == 8


def test_cycled_words_repeat_shorter_sequences_in_the_padding() -> None:
    cycled = WORDS.cycle_sequences()
    assert cycled.codes.T.tolist() == [[3, 4, 3, 4, 3], [5, 6, 7, 8, 9], [2, 2, 2, 2, 2]]
    assert torch.equal(cycled.there, WORDS.there)
