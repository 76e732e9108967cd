"""Get a data set from its official home: nothing unverified is ever seen under a file's name."""

import os
import posixpath
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import IO

from normcore.data.datasets import DataFile, Dataset
from normcore.data.stored import CHUNK, DatasetCorrupt, DatasetError, by_hand, content_sha256, locate, verify

TIMEOUT = 60.0  # seconds without a byte
MAX_DOWNLOAD = 1 << 30  # bytes

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes so far, and the bytes in all if the server says."""


class DownloadFailed(DatasetError):
    """None of a file's sources could be read."""


def fetch(dataset: Dataset, datasets_dir: Path, progress: Progress | None = None) -> list[Path]:
    """Download what is not there yet into ``<datasets_dir>/<dataset>/``; files that are there and right stay.

    One file that cannot be had does not keep the others from being fetched.

    Returns:
        The files' paths; none for a bundled data set.

    Raises:
        DownloadFailed: no source of some file answers; the message says why, and where files go by hand.
        DatasetCorrupt: what came is not the official content; nothing of it is kept.
    """
    if not dataset.files:
        return []
    datasets_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".fetch-{dataset.name}-", dir=datasets_dir) as scratch:
        failures = [
            failure
            for file in dataset.files
            if not _is_right(dataset, file, datasets_dir)
            for failure in _fetch_file(dataset, file, datasets_dir, Path(scratch), progress)
        ]
    if failures:
        kind = DatasetCorrupt if any(isinstance(failure, DatasetCorrupt) for failure in failures) else DownloadFailed
        reasons = "; ".join(map(str, failures))
        raise kind(f"data set '{dataset.name}' could not be fetched: {reasons}; {by_hand(dataset, datasets_dir)}")
    verify(dataset, datasets_dir)
    return [locate(dataset, file, datasets_dir) for file in dataset.files]


def _is_right(dataset: Dataset, file: DataFile, datasets_dir: Path) -> bool:
    try:
        return content_sha256(locate(dataset, file, datasets_dir), limit=file.size) == file.sha256
    except DatasetError:
        return False


def _fetch_file(
    dataset: Dataset, file: DataFile, datasets_dir: Path, scratch: Path, progress: Progress | None
) -> list[DatasetError]:
    """Try one source after the other, then move the verified file into its place; why none served, if none did."""
    failures: list[DatasetError] = []
    for url in file.urls:
        try:
            got = _download(url, scratch, progress)
            if file.member is not None:
                got = _extract(got, file, scratch)
            if content_sha256(got, limit=file.size) != file.sha256:
                got.unlink()
                raise DatasetCorrupt(f"{url}: {file.name} is not the official file (its SHA-256 differs)")
        except DatasetError as error:
            failures.append(error)
            continue
        _put(got, datasets_dir / dataset.name, file)
        return []
    return failures


def _put(got: Path, folder: Path, file: DataFile) -> None:
    """Replace whatever stood in the file's place, under either of its names."""
    folder.mkdir(exist_ok=True)
    name = file.name + (".gz" if got.suffix == ".gz" else "")
    os.replace(got, folder / name)
    other = file.name if name != file.name else file.name + ".gz"
    (folder / other).unlink(missing_ok=True)


def _download(url: str, scratch: Path, progress: Progress | None) -> Path:
    """Stream ``url`` into ``scratch``; an archive that is there already serves all its members."""
    name = posixpath.basename(url)
    path = scratch / name
    if path.exists():
        return path
    part = scratch / (name + ".part")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer, part.open("wb") as out:
            length = answer.headers.get("Content-Length")
            _copy(answer, out, name, int(length) if length else None, progress)
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadFailed(f"{url}: {error}") from error
    part.rename(path)
    return path


def _copy(source: IO[bytes], out: IO[bytes], name: str, total: int | None, progress: Progress | None) -> None:
    done = 0
    while chunk := source.read(CHUNK):
        out.write(chunk)
        done += len(chunk)
        if done > MAX_DOWNLOAD:
            raise ValueError(f"more than {MAX_DOWNLOAD:,} bytes")
        if progress is not None:
            progress(name, done, total)
    if total is not None and done != total:
        raise ValueError(f"the connection broke after {done:,} of {total:,} bytes")


def _extract(archive: Path, file: DataFile, scratch: Path) -> Path:
    """The member's content as a file of its own; no path of the archive is ever used for writing."""
    target = scratch / file.name
    try:
        with tarfile.open(archive, "r:*") as tar:
            for member in tar:
                if posixpath.normpath(member.name) == file.member and (content := tar.extractfile(member)):
                    with content, target.open("wb") as out:
                        shutil.copyfileobj(content, out)
                    return target
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DatasetCorrupt(f"{archive.name} is not a readable archive: {error}") from error
    raise DatasetCorrupt(f"{archive.name} has no {file.member}")
