"""Lines of a file that is in memory."""


def lines_of(text: str) -> list[str]:
    """Its lines, which end at a newline, with a carriage return before it or without.

    ``str.splitlines`` cuts at ten more characters, some of which stand within the sentences of news and reviews.
    """
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
