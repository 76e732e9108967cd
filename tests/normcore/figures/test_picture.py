"""Pictures are PNG files of given grey levels."""

import io

import numpy as np
from PIL import Image

from normcore.figures.picture import png, sheet


def test_images_stand_side_by_side_row_by_row() -> None:
    images = np.stack([np.full((2, 2), level) for level in (0.0, 0.1, 0.2, 0.3, 0.4)])
    whole = sheet(images)
    assert whole.shape == (7, 10)
    corners = [[whole[1 + 3 * row, 1 + 3 * column] for column in range(3)] for row in range(2)]
    assert corners == [[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]]
    assert (whole[[0, 3, 6]] == 0.5).all()
    assert (whole[:, [0, 3, 6, 9]] == 0.5).all()


def test_levels_are_scaled_to_255_greys_and_clipped() -> None:
    levels = np.array([[0.0, 0.5], [1.0, -3.0], [2.0, 0.25]])
    content = png(levels, scale=2)
    assert content.startswith(b"\x89PNG")
    picture = np.asarray(Image.open(io.BytesIO(content)))
    assert picture.shape == (6, 4)
    assert picture[::2, ::2].tolist() == [[0, 128], [255, 0], [255, 64]]
    assert (picture[1::2] == picture[::2]).all()
