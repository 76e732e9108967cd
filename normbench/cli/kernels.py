"""Command of the fused kernels on this machine. It needs no service."""

import os
import sys

from normbench.cli.command import Json, require
from normbench.cli.servers import Device


def kernels(device: Device = None, as_json: Json = False) -> None:
    """Prepare the fused kernels, once on a machine: compile those of the CPU, or try those of a GPU, which takes some
    minutes. A worker does the same before its first run."""
    require("nn")
    options = [*(["--device", device] if device else []), *(["--json"] if as_json else [])]
    os.execv(sys.executable, [sys.executable, "-P", "-m", "workers.kernels", *options])
