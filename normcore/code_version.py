"""Which code computes here. Torch-free, so that a service can tell whether a result is of its own code."""

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
COMMAND_TIMEOUT = 10.0  # seconds


@cache
def code_version() -> dict[str, str | None]:
    """The package's version, and the commit of the source, with ``-dirty`` if it was changed since; None what there is
    not."""
    return {"normbench": _package(), "git": _commit()}


def _package() -> str | None:
    try:
        return version("normbench")
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    if not (SOURCE / ".git").exists():
        return None
    return output_of("git", "-C", str(SOURCE), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def output_of(*command: str) -> str | None:
    """What a command prints; None if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
