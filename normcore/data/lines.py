"""Splitting of a text into lines."""


def lines_of(text: str) -> list[str]:
    """Split a text into lines. A line ends at a newline; a carriage return before the newline is dropped.

    ``str.splitlines`` also cuts at ten other characters, and some of these stand within sentences of news and reviews.
    """
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
