"""The folder of a publication. Files that an earlier publication wrote are replaced, and no others."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from normbench.errors import Invalid

LIST = "published.json"
"""File with the list of all files that the publication wrote."""


class Folder:
    """Folder to publish into.

    Args:
        path: the folder; it is made if it is missing.
        force: replace the files of an earlier publication.

    Raises:
        Invalid: the folder is not empty, and ``force`` is False; or it is not a folder.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        self.path = path
        if path.exists() and not path.is_dir():
            raise Invalid(f"{path} is a file; name a folder")
        there = sorted(file.name for file in path.iterdir()) if path.exists() else []
        earlier = self._read() if LIST in there else {}
        self._own = frozenset(name for name in earlier.get("files", []) if _is_inside(name))
        if there and not force:
            of = "has an earlier publication" if earlier else f"is not empty (it has {there[0]})"
            raise Invalid(
                f"{path} {of}; name another folder, or write --force, which replaces only what publish wrote there"
            )
        self.was_interrupted = bool(earlier.get("unfinished"))

    def write(self, files: Mapping[str, bytes], about: Mapping[str, Any]) -> list[str]:
        """Write the files of a publication. Files of an earlier one that are not among them are removed.

        All files are first written beside the folder, then moved into it, ``index.html`` last. The list is written
        before and after, so that a publication that was interrupted can be repeated.

        Args:
            about: what the list says of the publication.

        Returns:
            The files that were removed.

        Raises:
            Invalid: the folder has a file of somebody else with the name of a file to write. Nothing was written.
        """
        foreign = next((name for name in files if (self.path / name).exists() and name not in self._own), None)
        if foreign is not None:
            raise Invalid(f"{self.path / foreign} is not a file of publish; move it away, or name another folder")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{self.path.name}-", dir=self.path.parent))
        try:
            for name, content in files.items():
                _write(aside / name, content)
            return self._move(aside, sorted(files, key=lambda name: name == "index.html"), about)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _move(self, aside: Path, names: list[str], about: Mapping[str, Any]) -> list[str]:
        self.path.mkdir(exist_ok=True)
        everything = {**about, "unfinished": True, "files": sorted({*names, *self._own})}
        _write(self.path / LIST, _json(everything))
        for name in names:
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside / name, target)
        removed = sorted(self._own - set(names))
        for name in removed:
            (self.path / name).unlink(missing_ok=True)
            self._remove_empty_folders((self.path / name).parent)
        _write(self.path / LIST, _json({**about, "files": sorted(names)}))
        return removed

    def _remove_empty_folders(self, folder: Path) -> None:
        while folder != self.path and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads((self.path / LIST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("files"), list):
            raise Invalid(f"{self.path / LIST} is not a list that publish wrote; name another folder")
        return found


def _is_inside(name: Any) -> bool:
    """Tell if a name of a list is a path inside the folder."""
    return isinstance(name, str) and not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()
