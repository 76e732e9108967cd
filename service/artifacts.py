"""The artifact store: files of a run, in a directory or anywhere else fsspec reaches."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import fsspec

from service.errors import NotFound

CHUNK = 1 << 20
NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}$")


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
        self._fs.makedirs(f"{self._root}/{run_id}", exist_ok=True)
        with self._fs.transaction, self._fs.open(self._path(run_id, name), "wb") as file:
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
        return sorted((a for a in found if NAME.match(a.name)), key=lambda a: a.name)

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
        self.write(".check", "probe", b"normbench")
        self._fs.rm(f"{self._root}/.check", recursive=True)

    def _path(self, run_id: str, name: str) -> str:
        if not NAME.match(name):
            raise NotFound(f"run {run_id} has no artifact {name[:130]!r}")
        return f"{self._root}/{run_id}/{name}"
