"""What a message sets off: claim a run, have it trained, see it through to its end."""

import logging
import threading
import time
from collections.abc import Callable

from celery import Celery
from sqlalchemy.exc import SQLAlchemyError

from normcore.events import Analysed, Measured
from service.artifacts import Artifacts
from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle import Bell, Claim, LeaseLost
from service.fleet.attendance import Badge
from service.queue import RUN_EXPERIMENT, Doorbell
from workers.checkpoints import Checkpoints
from workers.messages import Began, Ended, Failed, Job, Message, Progress, Stopped
from workers.report import Report
from workers.settings import WorkerSettings
from workers.trainer import Trainer

log = logging.getLogger(__name__)

LISTEN_SECONDS = 0.2  # between two looks at what is due while the training is silent


def register(app: Celery, attendant: "Attendant") -> None:
    """Give the task its name on the queue."""

    @app.task(name=RUN_EXPERIMENT)  # type: ignore[untyped-decorator]
    def run_experiment(run_id: str) -> None:
        """Somebody rang for ``run_id``; the most urgent run that waits is taken, which may be another."""
        attendant.answer()


class Attendant:
    """Answers the doorbell of one worker, one run at a time."""

    def __init__(self, db: Database, settings: WorkerSettings, badge: Badge, doorbell: Doorbell) -> None:
        self.stopping = threading.Event()
        self._db, self._settings, self._badge, self._doorbell = db, settings, badge, doorbell

    def answer(self) -> None:
        """Claim a run, if there is one, and train it to its end."""
        if self.stopping.is_set():
            return
        try:
            claim = self._claim()
        except SQLAlchemyError as error:
            log.warning("cannot claim a run: %s", type(error).__name__)  # the scheduler rings again
            return
        if claim is not None:
            self._attend(claim)

    def _claim(self) -> Claim | None:
        with self._db.transaction() as session:
            return lifecycle.claim(
                session,
                queues=self._badge.queues,
                worker_id=self._badge.id,
                lease_seconds=self._settings.lease_seconds,
            )

    def _attend(self, claim: Claim) -> None:
        log.info("training %s, attempt %d", claim.lease.run_id, claim.lease.attempt)
        report = Report(self._db, self._settings, claim.lease, self._badge.device)
        store = Artifacts(self._settings.artifacts_url)
        checkpoints = Checkpoints(store, claim.lease.run_id, self._settings.checkpoint_seconds)
        trainer = Trainer(self._job(claim))
        try:
            grace = 0.0 if claim.spec.get("kind") == "analysis" else self._settings.grace_seconds
            end = Watch(trainer, report, checkpoints, self._settings, grace, self.stopping).until_end()
            bell = end()
            if bell is not None:
                self._doorbell.ring([bell])
        except LeaseLost:
            log.warning("%s belongs to another attempt; dropped", claim.lease.run_id)
        finally:
            trainer.kill()
            trainer.close()

    def _job(self, claim: Claim) -> Job:
        return Job(
            run_id=claim.lease.run_id,
            seed=claim.seed,
            spec=claim.spec,
            device=self._badge.device,
            threads=self._settings.threads,
            datasets_dir=self._settings.datasets_dir,
            artifacts_url=self._settings.artifacts_url,
            checkpoint_seconds=self._settings.checkpoint_seconds,
        )


End = Callable[[], Bell | None]


class Watch:
    """Follows one training process: relays what it says, and stops it when it must stop.

    Args:
        grace_seconds: for a last checkpoint, before SIGKILL; an analysis leaves none.
    """

    def __init__(
        self,
        trainer: Trainer,
        report: Report,
        checkpoints: Checkpoints,
        settings: WorkerSettings,
        grace_seconds: float,
        stopping: threading.Event,
    ) -> None:
        self._trainer, self._report, self._checkpoints = trainer, report, checkpoints
        self._settings, self._grace_seconds, self._stopping = settings, grace_seconds, stopping
        self._last_word = time.monotonic()
        self._kill_at: float | None = None

    def until_end(self) -> End:
        """Follow the process until it ends, by itself or by us.

        Returns:
            What to write about it.

        Raises:
            LeaseLost: the run belongs to another attempt.
        """
        while True:
            message = self._trainer.next(timeout=LISTEN_SECONDS)
            end = self._take(message) if message is not None else self._broken_off()
            if end is not None:
                return end
            if self._report.is_due:
                self._report.flush()
            if self._kill_at is None and (self._report.cancel_requested or self._stopping.is_set()):
                self._kill_at = time.monotonic() + self._grace_seconds
                self._trainer.stop()

    def _take(self, message: Message) -> End | None:
        self._last_word = time.monotonic()
        match message:
            case Began():
                self._report.began(message)
            case Progress() | Measured():
                self._report.note(message)
            case Ended() | Analysed():
                return lambda: self._ended(message)
            case Failed(error):
                return lambda: self._report.failed(error)
            case Stopped():
                return self._stopped
        return None

    def _broken_off(self) -> End | None:
        now = time.monotonic()
        if self._trainer.is_gone:
            return self._stopped if self._kill_at else lambda: self._report.lost(self._cause())
        if self._kill_at is not None and now > self._kill_at:
            self._trainer.kill()
        elif now - self._last_word > self._settings.stall_seconds:
            self._trainer.kill()
            return lambda: self._report.lost(f"no progress for {self._settings.stall_seconds:g} s")
        return None

    def _cause(self) -> str:
        return f"the training process was {self._trainer.close()}"

    def _ended(self, message: Ended | Analysed) -> None:
        self._report.ended(message)
        try:
            self._checkpoints.clear()
        except OSError as error:
            log.warning("checkpoints of a finished run stay: %s", error)

    def _stopped(self) -> Bell | None:
        if self._report.cancel_requested:
            self._report.cancelled()
            return None
        return self._report.released("its worker stopped")
