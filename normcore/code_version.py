"""Version and commit of the code on this machine. This module does not import torch, so the service can use it."""

import subprocess
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from normcore.source_files import State, files_below

SOURCE = Path(__file__).resolve().parent.parent
PACKAGES = ("normcore", "service", "workers", "normbench")
COMMAND_TIMEOUT = 10.0  # seconds
_kept: frozenset[tuple[str, State]] | None = None


class CodeVersion(NamedTuple):
    """Version, commit and cleanliness of the project's source.

    Attributes:
        version: version of the installed package; None if the package is not installed.
        commit: commit of the source; None outside a git work tree.
        dirty: True if a source file differs from the commit or is not in the commit; None outside a git work tree.
    """

    version: str | None
    commit: str | None
    dirty: bool | None

    @property
    def git(self) -> str | None:
        """The commit, with ``-dirty`` if the source differs from it."""
        return self.commit and self.commit + ("-dirty" if self.dirty else "")


def code_version() -> CodeVersion:
    """Find the project's version, its commit, and whether the source differs from the commit. Git is called again only
    after a change of a source file, of the commit or of git's index."""
    return CodeVersion(
        _package(), *(_commit(_kept or project_files(), _of_git()) if (SOURCE / ".git").exists() else (None, None))
    )


def project_files() -> frozenset[tuple[str, State]]:
    """Find the paths and the states (times of change and sizes) of all source files of the project."""
    return frozenset(file for package in PACKAGES for file in files_below(SOURCE / package))


def keep_project_files(files: frozenset[tuple[str, State]]) -> None:
    """Use ``files`` as the project's files until this process ends, because a training's code does not change."""
    global _kept
    _kept = files


@cache
def _package() -> str | None:
    try:
        return version("normbench")
    except PackageNotFoundError:
        return None


def _of_git() -> tuple[int | None, ...]:
    """Return the times of change of git's files. They differ after a commit, a checkout or a change of the index."""
    return tuple(map(_mtime, ("HEAD", "index", "logs/HEAD")))


def _mtime(name: str) -> int | None:
    try:
        return (_git_folder() / name).stat().st_mtime_ns
    except OSError:
        return None


def _git_folder() -> Path:
    """Return the folder of git's files. In a linked work tree, ``.git`` is a file that names the folder."""
    git = SOURCE / ".git"
    return SOURCE / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip() if git.is_file() else git


@lru_cache(maxsize=1)
def _commit(files: frozenset[tuple[str, State]], of_git: tuple[int | None, ...]) -> tuple[str | None, bool | None]:
    git = ("git", "-C", str(SOURCE))
    commit = output_of(*git, "rev-parse", "HEAD")
    differing = output_of(*git, "status", "--porcelain", "--untracked-files=all", "--", *PACKAGES)
    return commit, None if commit is None else differing is not None


def output_of(*command: str) -> str | None:
    """Return the output of a command; None if the command prints nothing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
