"""This machine: which device a worker uses, and from which queues it takes runs."""

import os
import shutil
import socket
import subprocess

from service.fleet.registration import WorkerIdentity
from service.ids import new_id


def choose_device() -> str:
    """The first GPU that the driver lists, else the CPU; without importing torch."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "cpu"
    listed = subprocess.run([tool, "-L"], capture_output=True, text=True, check=False)
    return "cuda:0" if listed.returncode == 0 and "GPU 0" in listed.stdout else "cpu"


def identify(device: str, worker_id: str | None) -> WorkerIdentity:
    """A worker's identity. It takes runs that asked for its kind of device or for ``auto``.

    Args:
        worker_id: None for a new one.
    """
    kind = device.partition(":")[0]
    return WorkerIdentity(worker_id or new_id("wrk"), socket.gethostname(), os.getpid(), device, ("auto", kind))
