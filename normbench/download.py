"""Write a download to a file that is never seen half written."""

import os
from collections.abc import Iterable
from pathlib import Path


def save(pieces: Iterable[bytes], target: Path) -> None:
    """Write the pieces to a temporary file next to ``target``, then move it to ``target``. An older file is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
