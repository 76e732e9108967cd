"""Every example comes once per epoch, and a run can return to a saved position in the data."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from normcore.tasks import task
from normcore.training.order import TrainingOrder


def shuffled(size: int, batch_size: int, seed: int = 0) -> TrainingOrder:
    def draw(generator: torch.Generator) -> Sequence[Tensor]:
        return task.shuffle_into_batches(torch.arange(size), batch_size, generator)

    return TrainingOrder(draw, torch.Generator().manual_seed(seed))


def test_every_epoch_has_an_order_of_its_own() -> None:
    order = shuffled(100, 100)
    assert order.next_batch().tolist() != order.next_batch().tolist()


@pytest.mark.parametrize("taken", range(9))
def test_saved_position_is_followed_by_the_same_batches(taken: int) -> None:
    order, other = shuffled(8, 3), shuffled(8, 3, seed=1)
    for _ in range(taken):
        order.next_batch()
    other.load_state_dict(order.state_dict())
    for _ in range(7):
        assert other.next_batch().tolist() == order.next_batch().tolist()


def test_peek_does_not_advance_the_order() -> None:
    order, other = shuffled(8, 3), shuffled(8, 3)
    for _ in range(7):
        seen = order.peek().tolist()
        assert order.peek().tolist() == seen == order.next_batch().tolist() == other.next_batch().tolist()
