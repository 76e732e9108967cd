"""Description of the machine, and of the code, that numbers were measured with."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from typing import Any

from benchmarks.processes import ROOT


def describe_machine() -> dict[str, Any]:
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "commit": _commit(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _commit() -> str:
    """Commit of the checkout, with ``-dirty`` if files were changed since."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
