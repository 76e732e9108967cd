"""Parts of a file, as a ``Range`` header asks for them (RFC 9110, section 14)."""

import re

from service.errors import BadRange

RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.ASCII | re.IGNORECASE)


def read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Read the start and the stop of the part that a ``Range`` header asks for. None if the whole file is to be sent:
    without the header, and for values that a server may ignore (other units, several ranges, invalid text).

    Raises:
        BadRange: the file ends before the part begins.
    """
    match = RANGE.fullmatch(header or "")
    if match is None or match.group(1, 2) == ("", ""):
        return None
    if not match[1]:  # the last so many bytes
        start, stop = max(0, size - int(match[2])), size
    else:
        start, stop = int(match[1]), min(size, int(match[2]) + 1 if match[2] else size)
        if match[2] and int(match[2]) < int(match[1]):
            return None
    if start >= size or start == stop:
        raise BadRange(size)
    return start, stop
