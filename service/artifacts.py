"""The artifact store: files of runs, in a directory or in any other place that fsspec reaches.

The name of every file begins with the attempt that wrote the file, so an attempt that has lost its run cannot touch the
files of another attempt. On a local disk, a written file survives a power cut.
"""

import errno
import os
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

from service.errors import NotFound
from service.timed_calls import CALL_SECONDS, within

Entries = list[dict[str, Any]]  # ``list`` is a method below
T = TypeVar("T")
CHUNK = 1 << 20
BLOCK = 4 * CHUNK  # bytes that are fetched at once from a store behind a network
SLOWEST = 1 << 20  # bytes a second; a store that takes fewer counts as hanging
NAME = re.compile(r"(?!figures\Z)(?:figures/)?[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}")
FILE = re.compile(rf"([1-9][0-9]{{0,8}})\.({NAME.pattern})")  # attempt and name
MODEL, LOG, ENVIRONMENT = "model.pt", "log.txt", "environment.json"
CURVES = "figures/curves.json"
CHECKPOINT = re.compile(r"checkpoint-(\d{12})\.pt")  # the digits are the step


def is_output(name: str) -> bool:
    """Tell if a file is part of a run's result: the model, the learning curves, or another artifact of the task."""
    return name not in (LOG, ENVIRONMENT) and not CHECKPOINT.fullmatch(name)


@dataclass(frozen=True, slots=True, order=True)
class Artifact:
    """A stored file: the attempt that wrote it, its name, and its size in bytes."""

    attempt: int
    name: str
    size: int


class Artifacts:
    """Store of files under one URL. Each file belongs to a run and an attempt, and has a name.

    Args:
        call_seconds: time limit of one call, for a store behind a network. A call without an answer in this time raises
            ``TimeoutError``; writing a large file may take longer. None for callers that watch the time themselves.
    """

    def __init__(self, url: str, *, call_seconds: float | None = CALL_SECONDS) -> None:
        self._fs, root = fsspec.core.url_to_fs(url, **_limits(url))
        self._root = root.rstrip("/")
        self._call_seconds = None if isinstance(self._fs, LocalFileSystem) else call_seconds

    def write(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        """Store a file, whole or not at all. On return the file is on the disk.

        Raises:
            OSError: the store is full, is read-only, or does not answer.
        """
        path = self._path(run_id, attempt, name)
        self._in_time(lambda: self._write(path, content), transferred=len(content))

    def _write(self, path: str, content: bytes) -> None:
        folder = path.rpartition("/")[0]
        if isinstance(self._fs, LocalFileSystem):
            _make_folder(Path(folder))
            _write_beside_and_rename(Path(path), content)
            return
        self._fs.makedirs(folder, exist_ok=True)
        with self._fs.transaction, self._fs.open(path, "wb") as file:
            file.write(content)

    def read(self, run_id: str, attempt: int, name: str) -> bytes:
        """Read a whole file.

        Raises:
            NotFound: the attempt left no such file.
        """
        return b"".join(self.stream(run_id, attempt, name))

    def stream(
        self, run_id: str, attempt: int, name: str, *, start: int = 0, length: int | None = None
    ) -> Iterator[bytes]:
        """Read a file in pieces: the whole file, or ``length`` bytes of the file from byte ``start`` on. The file is
        opened at once, so a missing file raises here and not at the first piece.

        Raises:
            NotFound: the attempt left no such file.
        """
        path = self._path(run_id, attempt, name)
        try:
            file = self._in_time(lambda: self._fs.open(path, "rb", block_size=BLOCK))
        except FileNotFoundError:
            raise NotFound(f"run {run_id} has no artifact {name!r}") from None

        def pieces() -> Iterator[bytes]:
            left = length
            with file:
                file.seek(start)
                while piece := self._in_time(partial(file.read, CHUNK if left is None else min(CHUNK, left))):
                    left = None if left is None else left - len(piece)
                    yield piece

        return pieces()

    def version(self, run_id: str, attempt: int, name: str) -> str:
        """Version of a file: a text that changes when the file's content changes.

        Raises:
            NotFound: the attempt left no such file.
        """
        path = self._path(run_id, attempt, name)
        try:
            return f"{self._in_time(lambda: self._fs.checksum(path)):x}"
        except FileNotFoundError:
            raise NotFound(f"run {run_id} has no artifact {name!r}") from None

    def list(self, run_id: str) -> list[Artifact]:
        """List the artifacts of a run, sorted by attempt and name, including the artifacts in ``figures/``.

        Raises:
            NotADirectoryError: a file stands where the run's folder should be.
        """
        folder = f"{self._root}/{run_id}"
        entries = self._entries(folder)
        if [entry["name"] for entry in entries if entry["type"] == "file"] == [folder]:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
        for subfolder in [entry["name"] for entry in entries if entry["type"] == "directory"]:
            entries += self._entries(subfolder)
        files = [entry for entry in entries if entry["type"] == "file"]
        found = [(FILE.fullmatch(file["name"].removeprefix(f"{folder}/")), file["size"]) for file in files]
        return sorted(Artifact(int(match[1]), match[2], size) for match, size in found if match)

    def _entries(self, folder: str) -> Entries:
        """List the files and folders in a folder, as fsspec describes them; empty if there is no such folder."""
        self._fs.invalidate_cache(folder)
        try:
            return [*self._in_time(lambda: self._fs.ls(folder, detail=True))]
        except FileNotFoundError:
            return []

    def remove(self, run_id: str, attempt: int, name: str) -> None:
        """Remove a file, if it is there."""
        path = self._path(run_id, attempt, name)
        self._in_time(lambda: self._remove(path))

    def _remove(self, path: str) -> None:
        if self._fs.exists(path):
            self._fs.rm(path, recursive=True)

    def check_writable(self, size: int = 1) -> None:
        """Check that ``size`` bytes can be stored.

        Raises:
            OSError: the bytes cannot be stored.
        """
        if isinstance(self._fs, LocalFileSystem):
            _make_folder(Path(self._root))
        else:
            self._in_time(lambda: self._fs.makedirs(self._root, exist_ok=True))
        own = f".check-{secrets.token_hex(8)}"
        try:
            self.write(own, 1, "probe", bytes(size))
        finally:
            self._in_time(lambda: self._remove(f"{self._root}/{own}"))

    def _in_time(self, work: Callable[[], T], *, transferred: int = 0) -> T:
        """Call ``work``, with a time limit if the store is behind a network.

        Raises:
            TimeoutError: the store does not answer in time.
        """
        if self._call_seconds is None:
            return work()
        return within(self._call_seconds + transferred / SLOWEST, work)

    def _path(self, run_id: str, attempt: int, name: str) -> str:
        if not NAME.fullmatch(name):
            raise NotFound(f"run {run_id} has no artifact {name[:130]!r}")
        return f"{self._root}/{run_id}/{attempt}.{name}"


def _limits(url: str) -> dict[str, Any]:
    """Build options of fsspec's S3 file system with time limits, so that calls which the service has abandoned end,
    too. Limits in the user's fsspec configuration (``FSSPEC_S3``) take precedence.
    """
    if not url.startswith(("s3://", "s3a://")):
        return {}
    limits = {"connect_timeout": CALL_SECONDS, "read_timeout": 3 * CALL_SECONDS, "retries": {"total_max_attempts": 2}}
    for protocol in ("s3a", "s3"):
        limits |= fsspec.config.conf.get(protocol, {}).get("config_kwargs", {})
    return {"config_kwargs": limits}


def _make_folder(folder: Path) -> None:
    """Make a folder, and its missing parents. On return the folder's name is on the disk, even if an earlier process
    was killed between making the folder and syncing it.
    """
    missing = list(takewhile(lambda above: not above.is_dir(), folder.parents))
    folder.mkdir(parents=True, exist_ok=True)
    for made in (folder, *missing):
        if os.access(made.parent, os.R_OK | os.W_OK):  # otherwise another user made the folder
            _sync_folder(made.parent)


def _write_beside_and_rename(path: Path, content: bytes) -> None:
    """Write ``content`` to a temporary file in the folder of ``path``, then rename that file to ``path``. (A
    transaction of fsspec would move a file from the temporary directory. If that is another disk, the move is a copy,
    and readers could see half of the file.)
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Sync a folder to the disk. The name of a new file is on the disk only after this."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
