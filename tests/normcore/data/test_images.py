"""Labelled images know their shape, and can be read as sequences or as images."""

import pytest
import torch

from normcore.data.images import LabelledImages

PIXELS = torch.arange(24, dtype=torch.uint8).reshape(2, 12)
LABELS = torch.tensor([3, 4])
COLOUR = LabelledImages(PIXELS, LABELS, 24, (3, 2, 2))
GREY = LabelledImages(PIXELS, LABELS, 24, (1, 3, 4))


def test_images_are_channel_first_and_end_at_one() -> None:
    x = COLOUR.images(torch.float64)
    assert x.shape == (2, 3, 2, 2)
    assert x.dtype == torch.float64
    assert (x * 24).round().long().flatten().tolist() == list(range(24))
    assert x[1, 2, 0, 1] == (12 + 2 * 4 + 1) / 24


def test_taking_images_leaves_the_stored_images_unchanged() -> None:
    GREY.images(torch.float32)
    assert PIXELS.flatten().tolist() == list(range(24))


def test_a_part_and_a_copy_keep_the_shape() -> None:
    for images in (COLOUR[1:], COLOUR[torch.tensor([1])], COLOUR[1:].to(torch.device("cpu"))):
        assert images.shape == (3, 2, 2)
        assert images.images(torch.float32).shape == (1, 3, 2, 2)
        assert images.labels.tolist() == [4]


def test_pixels_in_another_order_are_read_in_that_order() -> None:
    order = torch.arange(11, -1, -1)
    assert GREY.in_order(order).sequences(torch.float64)[0, :, 0].tolist() == [11 / 24, 23 / 24]


def test_colour_images_as_sequences_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected images of 1 channel .* received 3 channels"):
        COLOUR.sequences(torch.float32)
