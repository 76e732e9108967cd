"""Record of the code that the fork server has imported, to notice files that have changed since then.

The fork server imports this module first, and so records the files before it imports anything else: an edit during the
imports counts as a change, too. Training processes are forked from the fork server and inherit the record.
"""

import hashlib
import os
import sys
import sysconfig
import time
from importlib.metadata import entry_points
from pathlib import Path

from normcore.code_version import keep_project_files, project_files
from normcore.source_files import State, sources_of_package, state_of

KINDS = ("methods", "tasks", "cells", "models", "analyses", "optimizers")
INSTALLED = ("site-packages", "dist-packages")
STANDARD_LIBRARY = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))

Files = dict[str, State | None]  # by path; None for a file that is not there


class LoadedCode:
    """Source files at the time of the import: of the project, of packages with plug-ins, and of modules outside the
    installed packages.
    """

    def __init__(self) -> None:
        points = [point for kind in KINDS for point in entry_points(group=f"normbench.{kind}")]
        self._began_ns = time.time_ns()
        self._plug_ins = sorted({point.module for point in points})
        self._folders = self._in_folders()
        self._modules: Files = {}
        self._digests = {path: _digest(path) for path in self._folders}

    def add_imported(self) -> None:
        """Record modules that were imported from other places, such as a folder on PYTHONPATH."""
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if path is not None and path not in self._folders and not _is_installed(path):
                state = self._modules[path] = state_of(path)
                is_older = state is not None and state.ctime_ns < self._began_ns
                self._digests[path] = _digest(path) if is_older else None
                if not is_older:  # it may have been edited after it was imported
                    self._modules[path] = None

    def list_changed_files(self) -> tuple[str, ...]:
        """Paths of files that differ from what was imported. Files that were added to the folders or removed from them
        count, too.
        """
        before = {**self._folders, **self._modules}
        now = {**self._in_folders(), **{path: state_of(path) for path in self._modules}}
        if now == before:
            keep_project_files(self._project)
            return ()
        touched = [path for path in sorted(before.keys() | now.keys()) if before.get(path) != now.get(path)]
        return tuple(path for path in touched if _digest(path) != self._digests.get(path))

    def _in_folders(self) -> Files:
        self._project = project_files()
        own = (source for package in self._plug_ins for source in sources_of_package(package))
        return {**dict(self._project), **{source.path: source.state for source in own}}


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:  # the file is not there
        return None


def _is_installed(path: str) -> bool:
    return path.startswith(STANDARD_LIBRARY) or any(name in path.split(os.sep) for name in INSTALLED)


LOADED = LoadedCode()
