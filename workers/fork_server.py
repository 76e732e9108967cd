"""The fork server, from which training processes are forked. It has imported torch but never used it. So a run starts
within milliseconds in a process of its own, and no process that has used CUDA is ever forked.

Importing torch takes seconds, so the server is started first of all; this module therefore imports almost nothing.
"""

import multiprocessing
import os
import signal
import sys
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from workers.messages import Job

WARM = (  # imported once, by the fork server; each takes a second or so
    "workers.loaded_code",  # first: it records the files that the others are imported from
    "workers.quick_imports",
    "workers.child",
    "normcore.data.digits",
    "workers.preload",  # last: it ends the quick imports
)
context = multiprocessing.get_context("forkserver")


def start() -> None:
    """Start the fork server, or start it again if it died."""
    context.set_forkserver_preload(list(WARM))
    forkserver.ensure_running()


def end() -> None:
    """End the fork server at once. By itself it would end after its imports."""
    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None:
        with suppress(ProcessLookupError):
            os.kill(server._forkserver_pid, signal.SIGKILL)


def restart(device: str) -> None:
    """End the fork server and start another, which imports the code as it is now; wait until it has done so. No process
    that was forked from the old server may be at work.

    Raises:
        OSError, EOFError: no process can be started, because memory, files or processes ran out.
    """
    end()
    server: Any = forkserver._forkserver
    server._stop()
    start()
    look_for(device)


class Device(NamedTuple):
    """A device that can be used.

    Attributes:
        memory: bytes of a GPU's own memory; None for the CPU.
    """

    memory: int | None


def look_for(device: str) -> Device | None:
    """Wait until the fork server has imported torch, and look for a device. None if the device cannot be used.

    Without the wait, a claimed run's lease could expire while torch is still being imported.
    """
    ours, theirs = context.Pipe(duplex=False)
    first = context.Process(target=_look_for, args=(device, theirs), daemon=True)
    first.start()
    theirs.close()
    try:
        found: Device = ours.recv()
    except EOFError:
        return None
    finally:
        ours.close()
        first.join()
    return found


def _look_for(device: str, asker: Connection) -> None:
    """Look for a device, in a process of its own, because torch must not use the device in the fork server."""
    from normcore.environment import memory_of, usable_device

    try:
        asker.send(Device(memory_of(usable_device(device))))
    except (RuntimeError, ValueError) as error:
        sys.exit(str(error))


def work(job: "Job", worker: Connection) -> None:
    """Execute a run in the training process. The import stands here, because the worker must not import torch."""
    from workers import child

    child.work(job, worker)
