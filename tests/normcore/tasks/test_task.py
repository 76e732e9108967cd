"""Epochs and evaluations are cut into batches of two examples or more, which batch statistics need."""

import pytest
import torch

from normcore.tasks.task import even_batches, in_batches, shuffle_into_batches


@pytest.mark.parametrize(("size", "sizes"), [(4, [2, 2]), (5, [2, 3]), (3, [3]), (1, [1]), (2, [2])])
def test_no_evaluation_batch_has_one_example_if_there_are_more(size: int, sizes: list[int]) -> None:
    batches = list(even_batches(torch.arange(size), 2))
    assert [len(b) for b in batches] == sizes
    assert torch.cat(batches).tolist() == list(range(size))


@pytest.mark.parametrize(
    ("size", "batch_size", "sizes"), [(6, 3, [3, 3]), (8, 3, [3, 3, 2]), (7, 3, [3, 3]), (1, 3, [1]), (3, 1, [1, 1, 1])]
)
def test_epoch_has_every_example_once_except_a_last_batch_of_one(size: int, batch_size: int, sizes: list[int]) -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        batches = shuffle_into_batches(torch.arange(size), batch_size, generator)
        assert [len(b) for b in batches] == sizes
        seen = torch.cat(list(batches)).tolist()
        assert len(set(seen)) == sum(sizes)
        assert set(seen) <= set(range(size))


def test_order_of_an_epoch_is_kept() -> None:
    assert torch.cat(list(in_batches(torch.tensor([4, 2, 9, 7]), 2))).tolist() == [4, 2, 9, 7]
