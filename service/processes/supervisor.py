"""Supervisor of the scheduler and the workers of ``normbench up``, which run beside the API."""

import logging
import threading
import time
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from service.db import Database, one_line
from service.experiments import lifecycle
from service.fleet import registration
from service.processes.scheduler import run_scheduler
from service.processes.stand_by import NOTICE_SECONDS, StandBy, WorkerProcess
from service.queue import Notifier, make_celery
from service.settings import Settings

log = logging.getLogger(__name__)

RESTART_SECONDS = (0.0, 0.0, 1.0, 5.0, 15.0)  # before the next worker, by the number of failures in a row
STABLE_SECONDS = 10.0  # a worker that ran for this time does not count as a failure
SETTLED_SECONDS = 8.0  # after a worker's start; before that a stand-by would slow it down
CANNOT_WORK = 2  # a worker's exit status


class Supervisor:
    """Runs the scheduler and the workers. A worker that dies is replaced, by the stand-by worker if there is one.

    Args:
        device: see ``service.processes.local.up``.
        cannot_work: function that is called if the first worker says that it cannot work here.
    """

    def __init__(self, db: Database, settings: Settings, device: str | None, cannot_work: Callable[[], None]) -> None:
        self.refused = False
        self._db, self._settings, self._cannot_work = db, settings, cannot_work
        self._stand_by = StandBy(settings, device)
        self._notifier = Notifier(make_celery(settings))
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, workers: int) -> None:
        scheduler = threading.Thread(
            target=run_scheduler, args=(self._db, self._settings, self._stop), name="scheduler"
        )
        keepers = [threading.Thread(target=self._keep_worker, name=f"worker-{k}") for k in range(workers)]
        self._threads = [scheduler, *keepers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the scheduler and all workers. Runs in training go back to the queue with a checkpoint."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._stand_by.stop()
        self._notifier.close()

    def _keep_worker(self) -> None:
        """Keep one worker running until ``stop``, then end it."""
        failures, first = 0, True
        while not self._stop.wait(RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)]):
            try:
                worker = self._stand_by.take()
            except OSError as error:  # processes, files or memory ran out
                log.warning("no worker can be started: %s", error)
                failures += 1
                continue
            began = time.monotonic()
            self._watch(worker)
            if self._stop.is_set():
                worker.end()
                return
            status = worker.process.returncode
            log.warning("worker %s ended with status %s", worker.id, status)
            if first and status == CANNOT_WORK:
                self.refused = True
                self._cannot_work()
                return
            was_killed_at_work = self._take_back_from(worker.id) and status < 0
            failures = 0 if was_killed_at_work or time.monotonic() - began > STABLE_SECONDS else failures + 1
            first = False

    def _watch(self, worker: WorkerProcess) -> None:
        """Wait until the worker ends or ``stop`` is called. Meanwhile start a stand-by, if the settings ask for one,
        once the worker's start is over.
        """
        while not worker.has_ended and not self._stop.wait(NOTICE_SECONDS):
            if self._settings.stand_by and worker.age > SETTLED_SECONDS:
                self._stand_by.fill()

    def _take_back_from(self, worker_id: str) -> bool:
        """Queue the run that a dead worker held, without waiting for the end of its lease.

        Returns:
            True if the worker had sent a heartbeat.
        """
        try:
            with self._db.transaction() as session:
                was_registered = registration.remove(session, worker_id)
                notifications = lifecycle.take_back_from(session, worker_id, max_attempts=self._settings.max_attempts)
        except SQLAlchemyError as error:
            log.warning("the run of worker %s waits for the end of its lease: %s", worker_id, one_line(error))
            return False
        self._notifier.notify(notifications)
        return was_registered
