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


def identify(device: str, worker_id: str | None, memory: int | None = None) -> WorkerIdentity:
    """A worker's identity. It takes runs that asked for its kind of device or for ``auto``.

    Args:
        worker_id: None for a new one.
        memory: bytes of the machine's memory that it gives a training; on a GPU that of the GPU counts.
    """
    kind = device.partition(":")[0]
    there_is = memory if kind == "cpu" else memory_of_gpu(device)
    host = socket.gethostname()
    return WorkerIdentity(worker_id or new_id("wrk"), host, os.getpid(), device, ("auto", kind), memory=there_is)


def memory_of_gpu(device: str) -> int | None:
    """Bytes of memory of ``cuda`` or ``cuda:N``; None if the driver does not tell."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = [tool, "--query-gpu=memory.total", "--format=csv,noheader,nounits", "-i", device.partition(":")[2] or "0"]
    told = subprocess.run(query, capture_output=True, text=True, check=False)
    mebibytes = told.stdout.strip()
    return int(mebibytes) << 20 if told.returncode == 0 and mebibytes.isdigit() else None
