"""Read one file from a tar or zip archive, or all files of a tar. Paths in an archive are never used for writing."""

import gzip
import lzma
import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from normcore.data.files import CHUNK, DatasetCorrupt

UNREADABLE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, RuntimeError),
    KeyError,  # a link to a member that is not in the archive
)
LARGEST = 1 << 24  # bytes of one file, where an archive holds many


def member_chunks(archive: Path, member: str) -> Iterator[bytes]:
    """Read the content of ``member`` out of the archive, piece by piece.

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


def files_of_tar(archive: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Path and content of every file whose name ends in ``suffix``, in the archive's order, without hidden files.

    Python's ``tarfile`` takes a cut between two files, or a damaged header, for the end of the archive. Here the
    archive ends only where a block of zeros begins.

    Raises:
        DatasetCorrupt: the archive cannot be read to its end, has a name twice, or a file of more than ``LARGEST``
            bytes.
    """
    try:
        with _open_decompressed(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as packed:
            names: set[str] = set()
            for info in packed:
                name = posixpath.basename(info.name)
                if not name.endswith(suffix) or name.startswith(".") or (content := packed.extractfile(info)) is None:
                    continue
                if info.name in names:
                    raise DatasetCorrupt(f"{archive} has {info.name} twice; download it again")
                names.add(info.name)
                if info.size > LARGEST:
                    raise DatasetCorrupt(f"{archive}: {info.name} has {info.size:,} bytes; download it again")
                yield info.name, content.read()
            stream.seek(packed.offset)
            if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise DatasetCorrupt(
                    f"{archive} cannot be read: it is cut or damaged after {packed.offset:,} bytes; download it again"
                )
            while stream.read(CHUNK):
                pass
    except UNREADABLE as error:
        raise DatasetCorrupt(f"{archive} cannot be read: {error}; download it again") from error


def _open_decompressed(archive: Path) -> IO[bytes]:
    with archive.open("rb") as found:
        is_gzip = found.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(archive)) if is_gzip else archive.open("rb")


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
