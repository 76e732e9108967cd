"""Drawing of handwriting as strokes."""

import re
from xml.etree import ElementTree

import torch

from normcore.figures.pen import HEIGHT, MARGIN, svg

LINE = torch.tensor([[5.0, 5.0, 0], [10.0, 0.0, 1], [0.0, 20.0, 0], [-10.0, 0.0, 1]])


def test_strokes_begin_where_the_pen_was_lifted() -> None:
    picture = ElementTree.fromstring(svg([LINE, LINE[:2]], "two <lines>"))
    title, _, group = picture
    assert title.text == "two <lines>"
    first, second = (path.attrib["d"] for path in group)
    assert re.findall("[ML]", first) == ["M", "L", "M", "L"]
    assert re.findall("[ML]", second) == ["M", "L"]
    at = [tuple(map(float, pair.split())) for pair in re.split("[ML]", first)[1:]]
    scale = HEIGHT / 20
    assert at == [
        (MARGIN, MARGIN),
        (MARGIN + 10 * scale, MARGIN),
        (MARGIN + 10 * scale, MARGIN + HEIGHT),
        (MARGIN, MARGIN + HEIGHT),
    ]


def test_picture_is_as_large_as_its_lines() -> None:
    picture = ElementTree.fromstring(svg([LINE, LINE, LINE], "three"))
    _, _, width, height = map(float, picture.attrib["viewBox"].split())
    assert width == 10 * HEIGHT / 20 + 2 * MARGIN
    assert height == 3 * (HEIGHT + MARGIN) + MARGIN
    assert (float(picture.attrib["width"]), float(picture.attrib["height"])) == (width, height), "a page may show it"
