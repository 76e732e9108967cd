"""The fork server that training processes are forked from. It has imported torch but never used it, so that a run
starts within milliseconds in a process of its own, and no process that has used CUDA is ever forked.

Importing torch takes seconds, so the server is started first of all; this module therefore imports almost nothing.
"""

import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workers.messages import Job

WARM = (  # imported once, by the fork server; each takes a second or so
    "workers.loaded_code",  # first: it records the files that the others are imported from
    "workers.child",
    "workers.preloaded",
    "normcore.data.digits",
)
context = multiprocessing.get_context("forkserver")


def start() -> None:
    """Start the fork server, again if it died meanwhile."""
    context.set_forkserver_preload(list(WARM))
    forkserver.ensure_running()


def restart(device: str) -> None:
    """End the fork server, start another, which imports the code that lies there now, and wait until it has done so. No
    process that was forked from the first may be at work.

    Raises:
        OSError, EOFError: no process can be started, for want of memory, files or processes.
    """
    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None:
        os.kill(server._forkserver_pid, signal.SIGKILL)
    server._stop()
    start()
    can_train_on(device)


def can_train_on(device: str) -> bool:
    """Wait until the fork server has imported torch, and say whether the device can be used.

    Otherwise a claimed run's lease could expire while torch is still being imported.
    """
    first = context.Process(target=_look_for, args=(device,), daemon=True)
    first.start()
    first.join()
    return first.exitcode == 0


def _look_for(device: str) -> None:
    """Runs in a process of its own, because torch must not use the device in the fork server."""
    from normcore.environment import usable_device

    try:
        usable_device(device)
    except (RuntimeError, ValueError) as error:
        sys.exit(str(error))


def work(job: "Job", worker: Connection) -> None:
    """Runs in the training process; imports there what the worker must not."""
    from workers import child

    child.work(job, worker)
