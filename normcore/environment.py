"""Environment in which a result was computed: packages, code version and hardware."""

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from normcore.code_version import code_version, output_of


def environment(device: torch.device, threads: int, kernels: str | None = None) -> dict[str, Any]:
    """Describe the software and the machine in plain values. A value that does not apply is None.

    Args:
        kernels: instruction set and compiler of the fused kernels in use; None without fused kernels.
    """
    cuda, code = device.type == "cuda", code_version()
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # torch's class of versions would import torch when it is unpickled
        "numpy": version("numpy"),
        "normbench": code.version,
        "git": code.git,
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
def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@cache
def _driver_version() -> str | None:
    found = output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return found.splitlines()[0] if found else None


def memory_of(device: torch.device) -> int | None:
    """Return the bytes of a GPU's memory; None for the CPU. CUDA's index of a GPU may differ from the driver's."""
    if device.type == "cpu":
        return None
    return int(torch.cuda.get_device_properties(device).total_memory)


def usable_device(name: str | torch.device) -> torch.device:
    """Return the torch device of this name.

    Raises:
        ValueError: this machine does not have the device.
    """
    device = torch.device(name)
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"expected device cpu or cuda, received {device}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"there is no device {device} here; use cpu")
    return device
