"""The worker as a process: Celery receives notifications, a thread sends heartbeats, a fork server stays warm."""

import logging
import os
import signal
import sys
import threading
import warnings

from celery.exceptions import SecurityWarning
from celery.signals import setup_logging, worker_shutting_down
from sqlalchemy.exc import SQLAlchemyError

from service.db import Database, one_line
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.processes.startup import StartupError, prepare
from service.queue import Notifier, make_celery, queue_name
from workers import node, tasks, warm
from workers.settings import WorkerSettings

log = logging.getLogger(__name__)


def run_worker(settings: WorkerSettings, *, worker_id: str | None = None, follow_stdin: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; a run in training is given back with a checkpoint.

    Args:
        worker_id: the id that the process which started this one gave it; None for a new one.
        follow_stdin: wait for one byte on standard input before starting, and stop when standard input closes, as it
            does when the parent dies.

    Raises:
        StartupError: nothing can be trained on the device, or see ``service.processes.startup``.
    """
    db = prepare(settings)
    identity = node.identify(settings.device or node.choose_device(), worker_id)
    celery = make_celery(settings)
    notifier = Notifier(celery)
    executor = tasks.Executor(db, settings, identity, notifier)
    tasks.register(celery, executor)
    warnings.simplefilter("ignore", SecurityWarning)  # of root and pickle; our messages are JSON
    setup_logging.connect(lambda **_: None, weak=False)  # Celery leaves logging as it is

    def stop(**_: object) -> None:
        executor.stopping.set()
        db.hurry()

    worker_shutting_down.connect(stop, weak=False)
    gone = threading.Event()
    heartbeats = threading.Thread(target=_send_heartbeats, args=(db, settings, identity, gone), name="heartbeats")
    try:
        if follow_stdin:
            if not os.read(sys.stdin.fileno(), 1):
                return
            threading.Thread(target=_stop_when_stdin_closes, name="parent", daemon=True).start()
        heartbeats.start()
        if not warm.can_train_on(identity.device):
            raise StartupError(f"cannot train on {identity.device} here; name another with --device")
        consumer = celery.Worker(
            pool_cls="solo",
            concurrency=1,
            queues=[queue_name(device) for device in identity.queues],
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
        gone.set()
        if heartbeats.is_alive():
            heartbeats.join()
        notifier.close()
        db.close()


def _send_heartbeats(db: Database, settings: WorkerSettings, identity: WorkerIdentity, gone: threading.Event) -> None:
    while True:
        try:
            with db.transaction() as session:
                if gone.is_set():
                    registration.remove(session, identity.id)
                    return
                registration.heartbeat(session, identity)
        except SQLAlchemyError as error:
            log.warning("no heartbeat: %s", one_line(error))
            if gone.is_set():
                return
        try:
            warm.start()
        except OSError as error:  # of processes, files or memory
            log.warning("no fork server: %s", error)
        gone.wait(settings.heartbeat_seconds)


def _stop_when_stdin_closes() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
