"""Write what arrives in pieces to a file that appears whole."""

import os
from collections.abc import Iterable
from pathlib import Path


def save(pieces: Iterable[bytes], target: Path) -> None:
    """Write the pieces beside ``target`` and move them there in the end; what stood there is replaced.

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
