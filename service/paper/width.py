"""Width of a printed figure, as a person writes it: 3.25in, 8.3cm, 83mm, 234pt."""

import re

from normcore.spec import SpecError
from normcore.spec.messages import quote_value
from service.errors import Invalid

INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
COLUMN = "3.25in"  # of a page with two columns
LEAST, MOST = 1.0, 20.0  # inches
WIDTH = re.compile(r"([0-9]{1,6}(?:\.[0-9]{0,6})?) ?([a-z]+)")


def read_width(text: str) -> float:
    """Read a width, in inches.

    Raises:
        Invalid: the text is no width, or the width is no figure's.
    """
    found = WIDTH.fullmatch(text)
    if found is None or found[2] not in INCHES:
        raise _wrong(f"expected a number with in, cm, mm or pt, not {quote_value(text)}", "width_syntax")
    inches = float(found[1]) * INCHES[found[2]]
    if not LEAST <= inches <= MOST:
        raise _wrong(f"expected {LEAST:g}in to {MOST:g}in, not {quote_value(text)}", "width_range")
    return inches


def _wrong(what: str, kind: str) -> Invalid:
    return Invalid([SpecError(("width",), f"{what}; write {COLUMN}, 8.3cm, 83mm or 234pt", kind)])
