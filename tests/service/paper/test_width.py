"""Widths of printed figures: units, limits, and what is refused."""

import pytest

from service.errors import Invalid
from service.paper.width import read_width

READ = {"3.25in": 3.25, "8.255cm": 3.25, "82.55 mm": 3.25, "234pt": 3.25, "1in": 1, "20in": 20}
WRONG = (
    *("", "3.25", "in", "0in", "-1in", "1000in", "0.99in", "20.1in", "wide", "nanin", "infin", "10m", "1e2in"),
    *("3.25IN", "٣in", "3.25in\n"),
)


@pytest.mark.parametrize("text", READ)
def test_a_width_is_read_in_its_unit(text: str) -> None:
    assert read_width(text) == pytest.approx(READ[text])


@pytest.mark.parametrize("text", WRONG)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid, match=r"(?s)^width: .*write 3\.25in, 8\.3cm, 83mm or 234pt$"):
        read_width(text)
