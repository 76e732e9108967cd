"""The fork server that training processes come from: it has imported torch and never used it, so that a run starts in
milliseconds, in a process of its own, and no process that has touched CUDA is ever forked.

It needs seconds to be warm, so it is started before all else; this module therefore imports next to nothing itself.
"""

import multiprocessing
import sys
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.messages import Job

WARM = (  # imported once, by the fork server; each takes a second or so
    "workers.child",
    "normcore.data.digits",
)
context = multiprocessing.get_context("forkserver")


def start() -> None:
    """Start the fork server, again if it died meanwhile."""
    context.set_forkserver_preload(list(WARM))
    forkserver.ensure_running()


def can_train_on(device: str) -> bool:
    """Wait until the fork server is warm; a run claimed before that could outlast its lease unstarted."""
    first = context.Process(target=_look_for, args=(device,), daemon=True)
    first.start()
    first.join()
    return first.exitcode == 0


def _look_for(device: str) -> None:
    """Runs in the first process; torch must not touch the device in any that is forked."""
    from normcore.environment import usable_device

    try:
        usable_device(device)
    except (RuntimeError, ValueError) as error:
        sys.exit(str(error))


def work(job: "Job", worker: Connection) -> None:
    """Runs in the training process; imports there what the worker must not."""
    from workers import child

    child.work(job, worker)
