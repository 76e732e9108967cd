"""Files on disk: find them, check them against their digests, read them.

A digest is cached by path, size and modification time, so that a second check costs only a ``stat``.
"""

import gzip
import hashlib
import io
import posixpath
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, cast

from normcore.data.datasets import DataFile, Dataset

Status = Literal["bundled", "present", "missing", "corrupt"]
CHUNK = 1 << 20  # bytes


class DatasetError(Exception):
    """A data set that a task needs cannot be used.

    Attributes:
        field: path of the field of the spec that asks for the data set.
    """

    def __init__(self, message: str, field: tuple[str, ...] = ("task",)) -> None:
        super().__init__(message)
        self.field = field


class DatasetMissing(DatasetError):
    """A data set, or a user's text file, is not where it should be."""


class DatasetCorrupt(DatasetError):
    """A file is there, but its content is not what it should be."""


class Content(NamedTuple):
    """Content of a file: SHA-256 and number of the uncompressed bytes."""

    sha256: str
    size: int


def locate(dataset: Dataset, file: DataFile, datasets_dir: Path | None) -> Path:
    """Find the file, plain or as ``.gz``.

    Raises:
        DatasetMissing: neither the plain file nor its ``.gz`` is there.
    """
    if datasets_dir is not None:
        plain = datasets_dir / dataset.folder / file.name
        for path in (plain, plain.with_name(file.name + ".gz")):
            if path.is_file():
                return path
    raise _make_missing_error(dataset, [file.name], datasets_dir)


def _make_missing_error(dataset: Dataset, files: Sequence[str], datasets_dir: Path | None) -> DatasetMissing:
    are, them = ("is", "it") if len(files) == 1 else ("are", "them")
    repair = (
        f"get {them} with: normbench data fetch {dataset.name}"
        if dataset.fetchable
        else f"no public address has {them}, so copy {them} there"
    )
    where = (
        f"in {datasets_dir / dataset.folder}"
        if datasets_dir is not None
        else "there, because no data sets' directory was given (NORMBENCH_DATASETS_DIR)"
    )
    return DatasetMissing(f"data set '{dataset.name}': {', '.join(files)} {are} not {where}; {repair}")


def by_hand(dataset: Dataset, datasets_dir: Path) -> str:
    """Advice to users who have the files from elsewhere: the folder to put them in. The data set must have files."""
    names = ", ".join(file.name for file in dataset.files)
    forms = "as it is, or with .gz" if len(dataset.files) == 1 else "as they are, or each with .gz"
    archives = sorted({posixpath.basename(url) for file in dataset.files if file.member for url in file.urls})
    unpacked = f", or {' or '.join(archives)} for the next fetch to unpack," if archives else ""
    return f"to add it by hand, put {names} ({forms}){unpacked} into {datasets_dir / dataset.folder}"


def verify(dataset: Dataset, datasets_dir: Path | None) -> None:
    """Check every file of the data set; a bundled data set has no files.

    Raises:
        DatasetMissing: a file is not there.
        DatasetCorrupt: a file's content is not the genuine content.
    """
    for file in dataset.files:
        _verify_file(dataset, file, datasets_dir)


def problems(dataset: Dataset, datasets_dir: Path | None) -> list[DatasetError]:
    """Problems of the data set: an error for each file that is not genuine, and one error for all missing files. The
    list is empty if the data set can be used.
    """
    found: list[DatasetError] = []
    absent: list[str] = []
    for file in dataset.files:
        try:
            _verify_file(dataset, file, datasets_dir)
        except DatasetMissing:
            absent.append(file.name)
        except DatasetError as error:
            found.append(error)
    return [*found, _make_missing_error(dataset, absent, datasets_dir)] if absent else found


def _verify_file(dataset: Dataset, file: DataFile, datasets_dir: Path | None) -> None:
    path = locate(dataset, file, datasets_dir)
    with _name_dataset_in_errors(dataset):
        check_content(dataset, file, path)


@contextmanager
def _name_dataset_in_errors(dataset: Dataset) -> Iterator[None]:
    """Add the data set's name, and how to repair it, to the error about a file of the data set."""
    try:
        yield
    except DatasetCorrupt as error:
        repair = (
            f"remove it, then: normbench data fetch {dataset.name}"
            if dataset.fetchable
            else "replace it by a good copy"
        )
        raise DatasetCorrupt(f"data set '{dataset.name}': {error}; {repair}") from error


def status(dataset: Dataset, datasets_dir: Path | None) -> Status:
    """Status of the data set: ``bundled`` or ``present`` if it can be used, else ``missing`` or ``corrupt``."""
    if not dataset.files:
        return "bundled"
    try:
        verify(dataset, datasets_dir)
    except DatasetMissing:
        return "missing"
    except DatasetCorrupt:
        return "corrupt"
    return "present"


def read_bytes(dataset: Dataset, name: str, datasets_dir: Path | None) -> bytes:
    """Uncompressed, verified content of the file called ``name``.

    Raises:
        DatasetMissing, DatasetCorrupt: as ``verify``.
    """
    return b"".join(read_chunks(dataset, name, datasets_dir))


def read_chunks(dataset: Dataset, name: str, datasets_dir: Path | None) -> Iterator[bytes]:
    """Uncompressed content of the file called ``name``, in pieces of at most ``CHUNK`` bytes.

    The content is verified only after its last piece: do not use any of it before the iteration has ended.

    Raises:
        DatasetMissing, DatasetCorrupt: as ``verify``.
    """
    file = dataset.file(name)
    path = locate(dataset, file, datasets_dir)
    digest, size = hashlib.sha256(), 0
    with _name_dataset_in_errors(dataset):
        for chunk in chunks(path, limit=file.size or None):
            digest.update(chunk)
            size += len(chunk)
            yield chunk
        _compare(Content(digest.hexdigest(), size), dataset, file, path)


def present_checksums(dataset: Dataset, datasets_dir: Path | None) -> dict[str, str]:
    """Digests of the data set's files on disk, also where no official digest is published.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or cannot be read.
    """
    paths = {file: locate(dataset, file, datasets_dir) for file in dataset.files}
    with _name_dataset_in_errors(dataset):
        return {f"{dataset.name}/{file.name}": _measure(file, path).sha256 for file, path in paths.items()}


def check_content(dataset: Dataset, file: DataFile, path: Path) -> None:
    """Check that ``path`` holds the content of ``file``; its digest is cached until the file at ``path`` changes.

    Raises:
        DatasetCorrupt: ``path`` holds other content, or cannot be read; the message says how the content differs.
    """
    _compare(_measure(file, path), dataset, file, path)


def _compare(found: Content, dataset: Dataset, file: DataFile, path: Path) -> None:
    if file.sha256 in ("", found.sha256):
        return
    for other in dataset.files:
        if found.sha256 == other.sha256:
            raise DatasetCorrupt(f"{path} holds {other.name} instead of {file.name}; the files were mixed up")
    if found.size < file.size:
        raise DatasetCorrupt(f"{path} has {found.size:,} of {file.size:,} bytes; it was cut short, or is another file")
    raise DatasetCorrupt(f"{path} is not the genuine file (its SHA-256 differs)")


def _measure(file: DataFile, path: Path) -> Content:
    try:
        facts = path.stat()
    except OSError as error:
        raise DatasetCorrupt(f"{path} cannot be read: {error}") from error
    return _content(path, facts.st_size, facts.st_mtime_ns, file.size or None)


@lru_cache(maxsize=1024)
def _content(path: Path, size: int, mtime_ns: int, limit: int | None) -> Content:
    digest, total = hashlib.sha256(), 0
    for chunk in chunks(path, limit):
        digest.update(chunk)
        total += len(chunk)
    return Content(digest.hexdigest(), total)


def chunks(path: Path, limit: int | None) -> Iterator[bytes]:
    """Read a file piece by piece; a file whose name ends in ``.gz`` is decompressed.

    Raises:
        DatasetCorrupt: the file cannot be read, or holds more than ``limit`` bytes.
    """
    total = 0
    try:
        with _open(path) as stream:
            while chunk := stream.read(CHUNK):
                total += len(chunk)
                if limit is not None and total > limit:
                    raise DatasetCorrupt(f"{path} holds more than {limit:,} bytes")
                yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetCorrupt(f"{path} cannot be read: {error}") from error


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else io.FileIO(path)
