"""Version and commit of the code that computes here. Torch-free, so that a service can compare results with it."""

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
        version: of the installed package; None if it is not installed.
        commit: of the source; None outside a git work tree.
        dirty: whether files of the packages differ from the commit, or are not in it.
    """

    version: str | None
    commit: str | None
    dirty: bool | None

    @property
    def git(self) -> str | None:
        """The commit, with ``-dirty`` if the source differs from it."""
        return self.commit and self.commit + ("-dirty" if self.dirty else "")


def code_version() -> CodeVersion:
    """The project's version, its commit, and whether the source differs from that. Git is asked again only after a file
    of the packages, the commit or the index has changed."""
    return CodeVersion(
        _package(), *(_commit(_kept or project_files(), _of_git()) if (SOURCE / ".git").exists() else (None, None))
    )


def project_files() -> frozenset[tuple[str, State]]:
    """Paths and states of all source files of the project."""
    return frozenset(file for package in PACKAGES for file in files_below(SOURCE / package))


def keep_project_files(files: frozenset[tuple[str, State]]) -> None:
    """Take these for the project's files as long as this process runs: a training does not change while it runs."""
    global _kept
    _kept = files


@cache
def _package() -> str | None:
    try:
        return version("normbench")
    except PackageNotFoundError:
        return None


def _of_git() -> tuple[int | None, ...]:
    """Another value after each commit, checkout and change of the index."""
    return tuple(map(_mtime, ("HEAD", "index", "logs/HEAD")))


def _mtime(name: str) -> int | None:
    try:
        return (SOURCE / ".git" / name).stat().st_mtime_ns
    except OSError:  # in a linked work tree .git is a file
        return None


@lru_cache(maxsize=1)
def _commit(files: frozenset[tuple[str, State]], of_git: tuple[int | None, ...]) -> tuple[str | None, bool | None]:
    git = ("git", "-C", str(SOURCE))
    commit = output_of(*git, "rev-parse", "HEAD")
    differing = output_of(*git, "status", "--porcelain", "--untracked-files=all", "--", *PACKAGES)
    return commit, None if commit is None else differing is not None


def output_of(*command: str) -> str | None:
    """Output of a command; None if it prints nothing, or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
