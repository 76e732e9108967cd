"""Files on disk: find them, check them against their digests, read them.

A digest is computed once for a path, size and modification time, so that checking again costs a ``stat``.
"""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Literal, cast

from normcore.data.datasets import DataFile, Dataset

Status = Literal["bundled", "present", "missing", "corrupt"]
CHUNK = 1 << 20  # bytes


class DatasetError(Exception):
    """A data set that a task needs cannot be used.

    Attributes:
        field: the path of the field of the spec that asks for it.
    """

    def __init__(self, message: str, field: tuple[str, ...] = ("task",)) -> None:
        super().__init__(message)
        self.field = field


class DatasetMissing(DatasetError):
    """A data set is not where it should be."""


class DatasetCorrupt(DatasetError):
    """A file is there, but its content is not what it should be."""


def locate(dataset: Dataset, file: DataFile, datasets_dir: Path | None) -> Path:
    """Where the file is, plain or as ``.gz``.

    Raises:
        DatasetMissing: it is in neither place.
    """
    if datasets_dir is not None:
        plain = datasets_dir / dataset.name / file.name
        for path in (plain, plain.with_name(file.name + ".gz")):
            if path.is_file():
                return path
    raise _missing(dataset, [file.name], datasets_dir)


def _missing(dataset: Dataset, files: Sequence[str], datasets_dir: Path | None) -> DatasetMissing:
    are, them = ("is", "it") if len(files) == 1 else ("are", "them")
    return DatasetMissing(
        f"data set '{dataset.name}': {', '.join(files)} {are} not {_where(datasets_dir, dataset.name)};"
        f" get {them} with: normbench data fetch {dataset.name}"
    )


def by_hand(dataset: Dataset, datasets_dir: Path) -> str:
    """Where somebody who has the files from elsewhere puts them; for a data set that has files."""
    names = ", ".join(file.name for file in dataset.files)
    return f"to add it by hand, put {names} (as they are, or each with .gz) into {datasets_dir / dataset.name}"


def verify(dataset: Dataset, datasets_dir: Path | None) -> None:
    """Check every file of the data set; one that is bundled has none.

    Raises:
        DatasetMissing: a file is not there.
        DatasetCorrupt: a file's content is not the official one.
    """
    for file in dataset.files:
        _verify_file(dataset, file, datasets_dir)


def problems(dataset: Dataset, datasets_dir: Path | None) -> list[DatasetError]:
    """What is wrong with the data set: each file that is not the official one, and all that are not there together;
    nothing if it can be used."""
    found: list[DatasetError] = []
    absent: list[str] = []
    for file in dataset.files:
        try:
            _verify_file(dataset, file, datasets_dir)
        except DatasetMissing:
            absent.append(file.name)
        except DatasetError as error:
            found.append(error)
    return [*found, _missing(dataset, absent, datasets_dir)] if absent else found


def _verify_file(dataset: Dataset, file: DataFile, datasets_dir: Path | None) -> None:
    path = locate(dataset, file, datasets_dir)
    try:
        sha256 = content_sha256(path, limit=file.size)
    except DatasetCorrupt as error:
        raise _corrupt(dataset, str(error)) from error
    if sha256 != file.sha256:
        raise _corrupt(dataset, f"{path} is not the official file (its SHA-256 differs)")


def _corrupt(dataset: Dataset, problem: str) -> DatasetCorrupt:
    return DatasetCorrupt(f"data set '{dataset.name}': {problem}; remove it, then: normbench data fetch {dataset.name}")


def status(dataset: Dataset, datasets_dir: Path | None) -> Status:
    """Whether the data set can be used, and if not, why."""
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
    file = next(file for file in dataset.files if file.name == name)
    path = locate(dataset, file, datasets_dir)
    try:
        content = b"".join(chunks(path, limit=file.size))
    except DatasetCorrupt as error:
        raise _corrupt(dataset, str(error)) from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise _corrupt(dataset, f"{path} is not the official file (its SHA-256 differs)")
    return content


def content_sha256(path: Path, limit: int) -> str:
    """SHA-256 of the uncompressed content, remembered until the file changes.

    Raises:
        DatasetCorrupt: the file cannot be read, or holds more than ``limit`` bytes.
    """
    try:
        facts = path.stat()
    except OSError as error:
        raise DatasetCorrupt(f"{path} cannot be read: {error}") from error
    return _sha256(path, facts.st_size, facts.st_mtime_ns, limit)


@lru_cache(maxsize=1024)
def _sha256(path: Path, size: int, mtime_ns: int, limit: int) -> str:
    digest = hashlib.sha256()
    for chunk in chunks(path, limit):
        digest.update(chunk)
    return digest.hexdigest()


def chunks(path: Path, limit: int) -> Iterator[bytes]:
    """Uncompressed content, piece by piece; the suffix ``.gz`` says whether there is anything to undo.

    Raises:
        DatasetCorrupt: the file cannot be read, or holds more than ``limit`` bytes.
    """
    total = 0
    try:
        with _open(path) as stream:
            while chunk := stream.read(CHUNK):
                total += len(chunk)
                if total > limit:
                    raise DatasetCorrupt(f"{path} holds more than {limit:,} bytes")
                yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetCorrupt(f"{path} cannot be read: {error}") from error


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else io.FileIO(path)


def _where(datasets_dir: Path | None, name: str) -> str:
    if datasets_dir is None:
        return "there, because no data sets' directory was given (NORMBENCH_DATASETS_DIR)"
    return f"in {datasets_dir / name}"
