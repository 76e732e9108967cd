"""Machine of a worker: the device that it uses, from which queues it takes runs, and how much memory it gives them."""

import os
import shutil
import socket
import subprocess

from sqlalchemy.orm import Session

from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.ids import new_id
from workers import memory
from workers.settings import WorkerSettings

NO_GPU = ("", "-1")  # values of CUDA_VISIBLE_DEVICES that hide all GPUs


def choose_device() -> str:
    """Choose CUDA's first GPU if the driver lists any, else the CPU. This imports no torch."""
    tool = shutil.which("nvidia-smi")
    if tool is None or os.environ.get("CUDA_VISIBLE_DEVICES") in NO_GPU:
        return "cpu"
    listed = subprocess.run([tool, "-L"], capture_output=True, text=True, check=False)
    return "cuda:0" if listed.returncode == 0 and "GPU 0" in listed.stdout else "cpu"


def identify(device: str, worker_id: str | None) -> WorkerIdentity:
    """Build the identity of a worker on this machine. It takes runs that asked for its kind of device or for ``auto``.

    Args:
        worker_id: None for a new id.
    """
    kind = device.partition(":")[0]
    return WorkerIdentity(worker_id or new_id("wrk"), socket.gethostname(), os.getpid(), device, ("auto", kind))


def memory_for_training(session: Session, settings: WorkerSettings, identity: WorkerIdentity) -> int:
    """Bytes of this machine's memory that a worker gives its training. All workers of the machine share its memory."""
    return memory.for_training(settings.memory_limit, registration.processes_on(session, identity.host))
