"""The artifact store: files of a run, in a directory or anywhere else fsspec reaches."""

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from service.errors import NotFound

CHUNK = 1 << 20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A stored file: its name within the run, and its size in bytes."""

    name: str
    size: int


class Artifacts:
    """Files by run and name under one URL."""

    def __init__(self, url: str) -> None:
        self._fs, root = fsspec.core.url_to_fs(url)
        self._root = root.rstrip("/")

    def write(self, run_id: str, name: str, content: bytes) -> None:
        """Store a file, whole or not at all.

        Raises:
            OSError: the store is full, read-only or away.
        """
        path = self._path(run_id, name)
        self._fs.makedirs(f"{self._root}/{run_id}", exist_ok=True)
        if isinstance(self._fs, LocalFileSystem):
            _write_beside_and_rename(Path(path), content)
            return
        with self._fs.transaction, self._fs.open(path, "wb") as file:
            file.write(content)

    def read(self, run_id: str, name: str) -> bytes:
        """A whole file.

        Raises:
            NotFound: the run has no such file.
        """
        return b"".join(self.stream(run_id, name))

    def stream(self, run_id: str, name: str) -> Iterator[bytes]:
        """A file piece by piece; it is opened before the first piece is asked for.

        Raises:
            NotFound: the run has no such file.
        """
        try:
            file = self._fs.open(self._path(run_id, name), "rb")
        except FileNotFoundError:
            raise NotFound(f"run {run_id} has no artifact {name!r}") from None

        def pieces() -> Iterator[bytes]:
            with file:
                while piece := file.read(CHUNK):
                    yield piece

        return pieces()

    def list(self, run_id: str) -> list[Artifact]:
        """What a run has stored, by name."""
        folder = f"{self._root}/{run_id}"
        self._fs.invalidate_cache(folder)
        try:
            files = self._fs.ls(folder, detail=True)
        except FileNotFoundError:
            return []
        found = [Artifact(f["name"].rpartition("/")[2], f["size"]) for f in files if f["type"] == "file"]
        return sorted((a for a in found if NAME.fullmatch(a.name)), key=lambda a: a.name)

    def remove(self, run_id: str, name: str) -> None:
        """Forget a file, if it is there."""
        path = self._path(run_id, name)
        if self._fs.exists(path):
            self._fs.rm(path)

    def check_writable(self) -> None:
        """Raises:
        OSError: nothing can be stored there.
        """
        self._fs.makedirs(self._root, exist_ok=True)
        own = f".check-{secrets.token_hex(8)}"
        self.write(own, "probe", b"normbench")
        self._fs.rm(f"{self._root}/{own}", recursive=True)

    def _path(self, run_id: str, name: str) -> str:
        if not NAME.fullmatch(name):
            raise NotFound(f"run {run_id} has no artifact {name[:130]!r}")
        return f"{self._root}/{run_id}/{name}"


def _write_beside_and_rename(path: Path, content: bytes) -> None:
    """A transaction of fsspec's moves the file from the temporary directory, often another disk, where a move is a
    copy that can be seen half done."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
