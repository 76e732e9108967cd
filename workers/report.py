"""Write to the database what a training reports: measurements in batches, lease renewals, and how the run ended.

While the database does not answer, training continues and measurements are kept here. If the lease ran out meanwhile,
the next write raises ``LeaseLost``.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from normcore.events import Analysed, Measured, Phase
from normcore.figures import Figure
from service import results
from service.db import Database, one_line
from service.experiments import figures, lifecycle, queries
from service.experiments.lifecycle import Lease, LeaseLost
from service.queue import Notification
from workers.messages import Progress, RunFinished, RunStarted, Saved
from workers.settings import WorkerSettings

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

PROGRESS_SECONDS = 1.0  # between two writes that say no more than how far the training is
RETRY_SECONDS = 1.0  # between two tries to write to a database that is away
INSIST_SECONDS = 5.0  # for such tries, once the worker stops


class GaveUp(Exception):
    """The worker stops while the database does not answer. Nothing was written; the lease will run out."""


class RunReport:
    """Writes to the database everything that one attempt reports.

    Every method that writes raises ``LeaseLost`` once the run belongs to another attempt. Methods that write the end of
    the attempt raise ``GaveUp`` if the worker stops while the database does not answer.
    """

    def __init__(
        self, db: Database, settings: WorkerSettings, lease: Lease, device: str, stopping: threading.Event
    ) -> None:
        self.cancel_requested = False
        self._db, self._settings, self._lease, self._device, self._stopping = db, settings, lease, device, stopping
        self._to_start: RunStarted | None = None
        self._measured: list[Measured] = []
        self._step, self._seconds, self._saved = 0, 0.0, 0
        self._phase: Phase | None = None
        self._started_at: tuple[float, int] | None = None  # when this attempt started, and at which step
        self._flushed = time.monotonic()
        self._dirty = False

    def note_start(self, message: RunStarted) -> None:
        """Take in that the training has started; ``flush`` writes it to the database."""
        for note in message.notes:
            log.warning("%s: %s", self._lease.run_id, note)
        self._to_start = message
        self._step = message.started.step
        self._started_at = (time.monotonic(), self._step)
        self._flushed = -math.inf  # written at once

    def note(self, message: Progress | Measured | Saved) -> None:
        """Take in a message; ``flush`` writes it to the database."""
        if isinstance(message, Saved):
            self._saved, self._dirty = message.step, True
            return
        if self._started_at is not None and self._step == self._started_at[1]:
            self._flushed = -math.inf  # the first step is written at once
        if isinstance(message, Measured):
            self._measured.append(message)
        else:
            self._step, self._seconds, self._dirty = message.step, message.seconds, True
            self._phase = message.phase

    @property
    def is_due(self) -> bool:
        """Tell if it is time to write the messages that were taken in, or to renew the lease."""
        if self._measured or self._to_start:
            patience = self._settings.flush_seconds
        elif self._dirty:
            patience = PROGRESS_SECONDS
        else:
            patience = self._settings.heartbeat_seconds
        return time.monotonic() - self._flushed >= patience

    def flush(self) -> int | None:
        """Write the messages that were taken in, and renew the lease. If the database does not answer, a later call
        tries again.

        Returns:
            The step up to which all measurements are stored; None if this call stored no measurements.
        """
        self._flushed = time.monotonic()
        try:
            with self._db.transaction() as session:
                self.cancel_requested = self._write(session, self._pace())
        except SQLAlchemyError as error:
            self._flushed = time.monotonic() + RETRY_SECONDS
            log.warning("measurements of %s wait: %s", self._lease.run_id, one_line(error))
            return None
        from_checkpoint = self._to_start.measured if self._to_start else ()
        stored = [m.step for m in (*from_checkpoint, *self._measured)]
        self._forget_written()
        return max(stored, default=None)

    def curves(self) -> Figure:
        """Write the last measurements, and draw the learning curves of the run, with the measurements of earlier
        attempts.
        """
        self._insist(lambda session: self._write(session, self._pace()))
        self._forget_written()
        return self._insist(
            lambda session: figures.curves_of(session, queries.run(session, self._lease.run_id)), self._db.snapshot
        )

    def write_result(self, message: RunFinished | Analysed) -> None:
        """Write the last measurements and the result in one transaction."""

        def write(session: Session) -> None:
            self._write(session, self._pace())
            if isinstance(message, Analysed):
                results.finish_analysis(session, self._lease, message)
            else:
                results.finish(session, self._lease, message.outcome, message.result, message.timing, message.start)

        try:
            self._insist(write)
        except LeaseLost:
            if not self._insist(lambda session: lifecycle.has_succeeded(session, self._lease)):
                raise
            # An earlier try was committed, and only its answer was lost.

    def write_failure(self, error: str) -> None:
        """Write that the run failed: it cannot go on."""
        self._close(lambda session: lifecycle.fail(session, self._lease, error))

    def write_cancellation(self) -> None:
        """Write that the run was stopped because somebody asked to cancel it."""
        self._close(lambda session: lifecycle.confirm_cancel(session, self._lease))

    def release_run(self, reason: str) -> Notification | None:
        """Give the run back to the queue, because this worker stops."""
        return self._close(lambda session: lifecycle.release(session, self._lease, reason))

    def defer_run(self, reason: str) -> None:
        """Give the run back for a while, because something that the training needs does not work at the moment."""
        self._close(lambda session: lifecycle.defer(session, self._lease, reason))

    def write_loss(self, reason: str) -> Notification | None:
        """Write that the attempt broke off."""
        limit = self._settings.max_attempts
        return self._close(lambda session: lifecycle.lose(session, self._lease, reason, max_attempts=limit))

    def _close(self, verb: Callable[[Session], Answer]) -> Answer:
        def write(session: Session) -> Answer:
            self._write(session, pace=None)
            return verb(session)

        return self._insist(write)

    def _write(self, session: Session, pace: float | None) -> bool:
        """Write to the database; tell if a user asked to cancel the run."""
        if self._to_start is not None:
            lifecycle.start(
                session,
                self._lease,
                self._to_start.started,
                device=self._device,
                resumed_from=self._to_start.resumed_from,
                measured=self._to_start.measured,
                notes=self._to_start.notes,
            )
        return lifecycle.record(
            session,
            self._lease,
            self._measured,
            step=self._step,
            seconds=self._seconds,
            pace=pace,
            phase=self._phase,
            saved=self._saved,
        )

    def _forget_written(self) -> None:
        self._to_start, self._measured, self._dirty = None, [], False

    def _insist(
        self,
        act: Callable[[Session], Answer],
        sessions: Callable[[], AbstractContextManager[Session]] | None = None,
    ) -> Answer:
        """Call ``act`` in a transaction, or in a session of ``sessions``, and repeat this until the database answers.
        Once the worker stops, repeat it only for a short time.
        """
        give_up_at = math.inf
        while True:
            try:
                with (sessions or self._db.transaction)() as session:
                    return act(session)
            except SQLAlchemyError as error:
                log.warning("the end of %s waits: %s", self._lease.run_id, one_line(error))
            if self._stopping.is_set():
                give_up_at = min(give_up_at, time.monotonic() + INSIST_SECONDS)
            if time.monotonic() >= give_up_at:
                raise GaveUp(f"{self._lease.run_id} is left to the scheduler: the database does not answer")
            time.sleep(RETRY_SECONDS)

    def _pace(self) -> float | None:
        if self._started_at is None or self._step <= self._started_at[1]:
            return None
        return (self._step - self._started_at[1]) / (time.monotonic() - self._started_at[0])
