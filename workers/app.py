"""The worker as a process: Celery listens for the bell, a thread keeps the heartbeat, a fork server stays warm."""

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
from service.fleet import attendance
from service.fleet.attendance import Badge
from service.queue import Doorbell, make_celery, queue_name
from service.startup import StartupError, prepare
from workers import node, tasks, warm
from workers.settings import WorkerSettings

log = logging.getLogger(__name__)


def run_worker(settings: WorkerSettings, *, worker_id: str | None = None, follow_stdin: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; a run in training is given back with a checkpoint.

    Args:
        worker_id: the name that whoever started this worker knows it by; None for a new one.
        follow_stdin: begin at the first byte of standard input, and stop when it ends, as it does when the parent is
            gone.

    Raises:
        StartupError: nothing can be trained on the device, or see ``service.startup``.
    """
    db = prepare(settings)
    badge = node.badge(settings.device or node.choose_device(), worker_id)
    celery = make_celery(settings)
    doorbell = Doorbell(celery)
    attendant = tasks.Attendant(db, settings, badge, doorbell)
    tasks.register(celery, attendant)
    warnings.simplefilter("ignore", SecurityWarning)  # of root and pickle; our messages are JSON
    setup_logging.connect(lambda **_: None, weak=False)  # Celery leaves logging as it is

    def stop(**_: object) -> None:
        attendant.stopping.set()
        db.hurry()

    worker_shutting_down.connect(stop, weak=False)
    gone = threading.Event()
    heart = threading.Thread(target=_beat, args=(db, settings, badge, gone), name="heart")
    try:
        if follow_stdin:
            if not os.read(sys.stdin.fileno(), 1):
                return
            threading.Thread(target=_stop_when_stdin_closes, name="parent", daemon=True).start()
        heart.start()
        if not warm.can_train_on(badge.device):
            raise StartupError(f"cannot train on {badge.device} here; name another with --device")
        consumer = celery.Worker(
            pool_cls="solo",
            concurrency=1,
            queues=[queue_name(device) for device in badge.queues],
            hostname=badge.id,
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
        if heart.is_alive():
            heart.join()
        doorbell.close()
        db.close()


def _beat(db: Database, settings: WorkerSettings, badge: Badge, gone: threading.Event) -> None:
    while True:
        try:
            with db.transaction() as session:
                if gone.is_set():
                    attendance.leave(session, badge.id)
                    return
                attendance.beat(session, badge)
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
