"""The worker as a process: Celery receives notifications, a thread sends heartbeats, and a fork server is ready to
start training processes.
"""

import logging
import math
import os
import signal
import sys
import threading
import time
import warnings
from dataclasses import replace

from celery.exceptions import SecurityWarning
from celery.signals import setup_logging, worker_shutting_down
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from normcore.own_code import digests
from service.db import Database, one_line
from service.fleet import registration
from service.fleet.registration import Code, WorkerIdentity
from service.processes.startup import StartupError, prepare
from service.queue import Notifier, make_celery, queue_name
from workers import fork_server, kernels, node, tasks
from workers.notifications import NotificationConsumer
from workers.settings import WorkerSettings

CODE_SECONDS = 10.0  # between two checks of this machine's code
log = logging.getLogger(__name__)


def run_worker(settings: WorkerSettings, *, worker_id: str | None = None, follow_stdin: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; a run in training is given back with a checkpoint.

    Args:
        worker_id: id that the parent process gave this worker; None for a new id.
        follow_stdin: wait for one byte on standard input before starting, and stop when standard input closes, which
            happens when the parent process dies.

    Raises:
        StartupError: nothing can be trained on the device, or the process cannot work here (see
            ``service.processes.startup``).
    """
    db = prepare(settings)
    identity = node.identify(settings.device or node.choose_device(), worker_id)
    celery = make_celery(settings)
    notifier = Notifier(celery)
    warnings.simplefilter("ignore", SecurityWarning)  # about root and pickle; our messages are JSON
    setup_logging.connect(lambda **_: None, weak=False)  # Celery leaves logging as it is
    heartbeats = Heartbeats(db, settings, identity)
    try:
        if follow_stdin:
            if not os.read(sys.stdin.fileno(), 1):
                return
            threading.Thread(target=_stop_when_stdin_closes, name="parent", daemon=True).start()
        is_there = identity.device == "cpu"  # a GPU may be missing; then nobody should wait for this worker
        if is_there:
            heartbeats.start()
        device = fork_server.look_for(identity.device)
        if device is None:
            raise StartupError(f"cannot train on {identity.device} here; name another with --device")
        identity = replace(identity, memory=device.memory)
        heartbeats.tell(identity)
        if not is_there:
            heartbeats.start()
        no_kernels = kernels.prepare(identity.device)
        identity = replace(identity, fused=no_kernels is None)
        heartbeats.tell(identity)
        executor = tasks.Executor(db, settings, identity, notifier, no_kernels)
        tasks.register(celery, executor)

        def stop(**_: object) -> None:
            executor.stopping.set()
            db.hurry()

        worker_shutting_down.connect(stop, weak=False)
        consumer = celery.Worker(
            pool_cls="solo",
            concurrency=1,
            queues=[queue_name(queue) for queue in identity.notified_in],
            consumer_cls=NotificationConsumer,
            hostname=identity.id,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            loglevel="WARNING",
            quiet=True,
        )
        consumer.start()
        if consumer.exitcode:  # Celery has logged why
            sys.exit(consumer.exitcode)
    finally:
        db.hurry()
        heartbeats.stop()
        notifier.close()
        db.close()


class Heartbeats:
    """Sends heartbeats from a thread of its own: the worker is alive, and what it is. The thread also keeps the fork
    server running.
    """

    def __init__(self, db: Database, settings: WorkerSettings, identity: WorkerIdentity) -> None:
        self._db, self._settings, self._identity = db, settings, identity
        self._code: Code | None = None
        self._code_at: float | None = None
        self._code_due = -math.inf
        self._gone, self._due = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._send, name="heartbeats")

    def start(self) -> None:
        self._thread.start()

    def tell(self, identity: WorkerIdentity) -> None:
        """Take the worker's identity, of which more is known now, and send it in a heartbeat at once."""
        self._identity = identity
        self._due.set()

    def stop(self) -> None:
        """Remove the worker from the database's list of workers, if it is there, and end the thread."""
        self._gone.set()
        self._due.set()
        if self._thread.is_alive():
            self._thread.join()

    def _send(self) -> None:
        while True:
            self._due.clear()
            gone = self._gone.is_set()
            self._look_at_code()
            try:
                with self._db.transaction() as session:
                    if gone:
                        registration.remove(session, self._identity.id)
                        return
                    registration.heartbeat(session, self._describe_worker(session))
            except SQLAlchemyError as error:
                log.warning("no heartbeat: %s", one_line(error))
                if gone:
                    return
            try:
                fork_server.start()
            except OSError as error:  # processes, files or memory ran out
                log.warning("no fork server: %s", error)
            self._due.wait(self._settings.heartbeat_seconds)

    def _describe_worker(self, session: Session) -> WorkerIdentity:
        """Identity of the worker as it is now. On a GPU its memory is the GPU's own, on the CPU what the machine gives
        a training.
        """
        now = replace(self._identity, code=self._code, code_at=self._code_at)
        if now.device == "cpu":
            return replace(now, memory=node.memory_for_training(session, self._settings, now))
        return now

    def _look_at_code(self) -> None:
        now = time.monotonic()
        if now >= self._code_due:
            self._code_at, self._code_due = time.time(), now + CODE_SECONDS
            self._code = digests()


def _stop_when_stdin_closes() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
