"""The scheduler. It notices what was lost: runs whose worker is gone, messages that never arrived, workers that fell
silent, and entries that their worker could not pool. It also puts runs back into the queue when their pause is over,
and takes the next step of adaptive sweeps.

Every step locks the rows that it changes, so any number of schedulers may run; one scheduler is enough.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from service.db import Database, one_line
from service.experiments import lifecycle
from service.fleet import registration
from service.leaderboards import entries
from service.processes.startup import exit_on_signals, prepare
from service.queue import Notification, Notifier, make_celery
from service.settings import Settings
from service.sweeps import adaptive
from service.workload import queries

log = logging.getLogger(__name__)

ENTRIES_SECONDS = 60.0  # between two searches for missing entries, which read all experiments


def schedule(settings: Settings, ready: Callable[[], None]) -> None:
    """Run the scheduler as a process, until SIGTERM or SIGINT.

    Args:
        ready: function that is called once the database answers.

    Raises:
        StartupError: see ``service.processes.startup``.
    """
    exit_on_signals()
    db = prepare(settings)
    stop = threading.Event()

    def end(*_: object) -> None:
        stop.set()
        db.hurry()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    ready()
    run_scheduler(db, settings, stop)
    db.close()


def run_scheduler(db: Database, settings: Settings, stop: threading.Event) -> None:
    """Call ``look`` again and again until ``stop`` is set.

    While the database does not answer, no worker can renew its lease. So afterwards, no run is taken back for the
    duration of one lease.
    """
    notifier = Notifier(make_celery(settings))
    trust_leases_from = entries_from = time.monotonic()
    while not stop.wait(settings.scheduler_seconds):
        try:
            notifier.notify(look(db, settings, take_back=time.monotonic() >= trust_leases_from))
            if time.monotonic() >= entries_from:
                with db.transaction() as session:
                    entries.refresh_missing(session)
                entries_from = time.monotonic() + ENTRIES_SECONDS
        except SQLAlchemyError as error:
            log.warning("the database does not answer: %s", one_line(error))
            trust_leases_from = time.monotonic() + settings.lease_seconds
    notifier.close()


def look(db: Database, settings: Settings, *, take_back: bool = True) -> list[Notification]:
    """Do the scheduler's steps once: look for lost runs and messages, end pauses, and advance adaptive sweeps.

    Args:
        take_back: whether runs whose lease ran out are queued again.

    Returns:
        The notifications to send.
    """
    notifications: list[Notification] = []
    with db.transaction() as session:
        if take_back:
            notifications += lifecycle.take_back(session, max_attempts=settings.max_attempts)
        lifecycle.end_pauses(session)
        notifications += adaptive.advance(session)
        registration.remove_silent(session, settings.heartbeat_seconds)
        idle = queries.count_idle_workers(session, settings.heartbeat_seconds)
        notifications += lifecycle.notify_again(session, idle=idle, after_seconds=settings.notify_again_seconds)
    for notification in notifications:
        log.info("notifying workers of %s", notification.run_id)
    return notifications
