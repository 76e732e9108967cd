"""Read one file out of a tar or zip archive. No path of the archive is ever used for writing."""

import lzma
import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from normcore.data.stored import CHUNK, DatasetCorrupt

UNREADABLE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, RuntimeError)


def member_chunks(archive: Path, member: str) -> Iterator[bytes]:
    """The content of ``member``, piece by piece.

    Raises:
        DatasetCorrupt: the archive cannot be read, or has no such member.
    """
    opened = _in_zip if archive.suffix == ".zip" else _in_tar
    try:
        with opened(archive, member) as content:
            while chunk := content.read(CHUNK):
                yield chunk
    except UNREADABLE as error:
        raise DatasetCorrupt(f"{archive.name} is not a readable archive: {error}") from error


@contextmanager
def _in_zip(archive: Path, member: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            if posixpath.normpath(info.filename) == member and not info.is_dir():
                with packed.open(info) as content:
                    yield content
                return
    raise _absent(archive, member)


@contextmanager
def _in_tar(archive: Path, member: str) -> Iterator[IO[bytes]]:
    with tarfile.open(archive, "r:*") as packed:
        for info in packed:
            if posixpath.normpath(info.name) == member and (content := packed.extractfile(info)):
                with content:
                    yield content
                return
    raise _absent(archive, member)


def _absent(archive: Path, member: str) -> DatasetCorrupt:
    return DatasetCorrupt(f"{archive.name} has no {member}")
