"""Blanks in a line that a user is advised to write: they stand for what only the user knows."""

import json
from collections.abc import Sequence
from typing import Any

from normcore.spec.messages import LONGEST_LINE

BLANK = "…"


def show_blanks(written: str) -> str:
    """Write the blanks of a line without quotes, so that no blank can be taken for text."""
    return written.replace(json.dumps(BLANK), BLANK)


def write_line(path: Sequence[str], value: Any) -> str:
    """Write a field with its value as a user types it. Blanks are shown before a long line is cut, so that no blank is
    cut in its middle."""
    for name in reversed(path):
        value = {name: value}
    written = show_blanks(json.dumps(value, default=str)[1:-1])
    return written if len(written) <= LONGEST_LINE else f"{written[:LONGEST_LINE]}…"
