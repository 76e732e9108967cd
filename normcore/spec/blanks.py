"""Blanks in a line that a user is advised to write: they stand for what only the user knows."""

import json

BLANK = "…"


def show_blanks(written: str) -> str:
    """Write the blanks of a line without quotes, so that no blank can be taken for text."""
    return written.replace(json.dumps(BLANK), BLANK)
