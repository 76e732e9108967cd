"""Where a number came from: packages, code version and hardware."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy
import torch

SOURCE = Path(__file__).resolve().parent.parent
COMMAND_TIMEOUT = 10.0  # seconds


def environment(device: torch.device, threads: int, kernels: str | None = None) -> dict[str, Any]:
    """Plain values that describe the software and the machine; what does not apply is None.

    Args:
        kernels: what those that run were compiled for, and by what.
    """
    cuda = device.type == "cuda"
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # a class of torch's own: whoever unpickles it would import torch
        "numpy": numpy.__version__,
        "normbench": _normbench_version(),
        "git": _git_commit(),
        "os": platform.platform(),
        "host": platform.node(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": threads,
        "kernels": kernels,
        "gpu": torch.cuda.get_device_name(device) if cuda else None,
        "cuda": torch.version.cuda if cuda else None,
        "driver": _driver_version() if cuda else None,
    }


@cache
def _normbench_version() -> str | None:
    try:
        return version("normbench")
    except PackageNotFoundError:
        return None


@cache
def _git_commit() -> str | None:
    """The commit of the source, with ``-dirty`` if it was changed since; None if it is no checkout."""
    if not (SOURCE / ".git").exists():
        return None
    return _output("git", "-C", str(SOURCE), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


@cache
def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@cache
def _driver_version() -> str | None:
    found = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return found.splitlines()[0] if found else None


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def usable_device(name: str | torch.device) -> torch.device:
    """The device of this name.

    Raises:
        ValueError: there is no such device here.
    """
    device = torch.device(name)
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"expected device cpu or cuda, received {device}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"there is no device {device} here; use cpu")
    return device
