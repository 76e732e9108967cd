"""Directory for artifacts whose disk can be full for a while."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = "64m"
FILLER = ".filler"
PIECE = 1 << 20
GUARD = """
mount -t tmpfs -o size=$0 tmpfs "$1" || exit
echo mounted
cat > /dev/null  # ends when our standard input does, however our parent went
umount -l "$1"
"""


class SmallDisk:
    """Small file system. When it is full, writes to it fail with ENOSPC."""

    trouble = "full"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Fill the file system to the last byte."""
        with (self.folder / FILLER).open("wb", buffering=0) as file:
            size = PIECE
            while size:
                try:
                    file.write(b"\0" * size)
                except OSError:
                    size //= 2

    def free(self) -> None:
        (self.folder / FILLER).unlink()


class Absent:
    """Substitute for a small disk that we may not mount: a file replaces the folder, and writes fail with ENOTDIR."""

    trouble = "absent"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._aside = folder.with_name(f"{folder.name}.aside")

    def fill(self) -> None:
        os.rename(self.folder, self._aside)
        self.folder.touch()

    def free(self) -> None:
        self.folder.unlink()
        os.rename(self._aside, self.folder)


@contextmanager
def disk(folder: Path) -> Iterator[SmallDisk | Absent]:
    """Mount a small disk on ``folder``; give ``Absent`` if we may not mount.

    The disk is unmounted in the end, even if this process is killed.
    """
    folder.mkdir(parents=True)
    guard = subprocess.Popen(
        ["sh", "-c", GUARD, SIZE, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert guard.stdin is not None
    assert guard.stdout is not None
    try:
        yield SmallDisk(folder) if guard.stdout.readline() else Absent(folder)
    finally:
        guard.stdin.close()
        guard.stdout.close()
        guard.wait()
