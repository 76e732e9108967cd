"""Reaction to a notification: the worker claims a run, has it trained and writes how it ended."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import NamedTemporaryFile

from celery import Celery
from sqlalchemy.exc import SQLAlchemyError

from normcore.events import Analysed, Measured
from normcore.source_files import known_digests
from service.artifacts import Artifacts
from service.db import Database, one_line
from service.experiments import lifecycle
from service.experiments.lifecycle import ClaimedRun, Lease, LeaseLost
from service.fleet.registration import WorkerIdentity
from service.queue import RUN_EXPERIMENT, Notification, Notifier
from workers import fork_server, node, outputs, training_log
from workers.memory import MemoryWatch
from workers.messages import (
    CodeChanged,
    Failed,
    Job,
    Message,
    Progress,
    RunFinished,
    RunStarted,
    Saved,
    Stopped,
    Stored,
    Troubled,
    name_files,
)
from workers.report import GaveUp, RunReport
from workers.settings import WorkerSettings
from workers.trainer import Trainer

log = logging.getLogger(__name__)

PROBE_BYTES = 1 << 20  # that the artifact store must take after trouble, before a worker claims again
FRESH_STARTS = 3  # if code is edited again while a fork server imports it
KILLED = "killed by SIGKILL"  # as a trainer says it
LISTEN_SECONDS = 0.2  # between two checks of what is due while the training sends nothing


def register(app: Celery, executor: "Executor") -> None:
    """Register the Celery task that executes runs."""

    @app.task(name=RUN_EXPERIMENT)  # type: ignore[untyped-decorator]
    def run_experiment(run_id: str) -> None:
        """Execute the most urgent waiting run. It may be another run than ``run_id``, which the message names."""
        executor.execute_next()


class Executor:
    """Executes runs for one worker, one at a time.

    Args:
        no_kernels: reason why trainings do not look for fused kernels; None if they may look.
    """

    def __init__(
        self,
        db: Database,
        settings: WorkerSettings,
        identity: WorkerIdentity,
        notifier: Notifier,
        no_kernels: str | None = None,
    ) -> None:
        self.stopping = threading.Event()
        self._db, self._settings, self._identity, self._notifier = db, settings, identity, notifier
        self._no_kernels = no_kernels
        self._memory = 0  # bytes for the next training
        self._in_trouble = False
        self._changed: tuple[str, ...] = ()  # files that were edited since the last training

    def execute_next(self) -> None:
        """Claim a run if a run waits, and train it to its end."""
        if self.stopping.is_set() or not self._is_out_of_trouble():
            return
        try:
            claim = self._claim()
        except SQLAlchemyError as error:
            log.warning("cannot claim a run: %s", one_line(error))  # the scheduler sends another
            return
        if claim is not None:
            self._execute(claim)

    def _is_out_of_trouble(self) -> bool:
        """Tell if the worker may claim runs: there was no trouble, or the artifact store takes files and processes can
        be started again. Until then other workers should take the runs.
        """
        if self._in_trouble:
            try:
                Artifacts(self._settings.artifacts_url).check_writable(PROBE_BYTES)
                with NamedTemporaryFile(prefix="normbench-"):
                    fork_server.look_for(self._identity.device)
            except Exception as error:  # every file system has errors of its own; the scheduler sends another
                log.warning("claiming nothing, still in trouble: %s: %s", type(error).__name__, error)
                return False
        self._in_trouble = False
        return True

    def _claim(self) -> ClaimedRun | None:
        with self._db.transaction() as session:
            self._memory = node.memory_for_training(session, self._settings, self._identity)
            return lifecycle.claim(
                session,
                queues=self._identity.queues,
                worker_id=self._identity.id,
                lease_seconds=self._settings.lease_seconds,
                fused=self._identity.fused is True,
            )

    def _execute(self, claim: ClaimedRun) -> None:
        lease = claim.lease
        log.info("training %s, attempt %d", lease.run_id, lease.attempt)
        report = RunReport(self._db, self._settings, lease, self._identity.device, self.stopping)
        try:
            for _ in range(FRESH_STARTS):
                changed = self._train(claim, report)
                if not changed:
                    self._changed = ()
                    return
                log.info("code was edited since the last training: %s", name_files(changed))
                self._changed = tuple(sorted({*self._changed, *changed}))
                try:
                    self._start_afresh(report)
                except (OSError, EOFError) as error:
                    self._defer_unstarted(report, error)
                    return
            report.defer_run(f"its code changes while the training starts: {name_files(self._changed)}")
        except LeaseLost:
            log.warning("%s belongs to another attempt; dropped", lease.run_id)
        except GaveUp as error:
            log.warning("%s", error)

    def _start_afresh(self, report: RunReport) -> None:
        """Start another fork server and wait until it has imported the code, which takes seconds; keep the lease.

        Raises:
            OSError, EOFError: no process can be started.
            LeaseLost: the run belongs to another attempt.
        """
        for file in self._changed:  # Python misses an edit within a second that keeps the size
            with suppress(OSError, NotImplementedError):
                Path(cache_from_source(file)).unlink(missing_ok=True)
        with ThreadPoolExecutor(1) as pool:
            ready = pool.submit(fork_server.restart, self._identity.device)
            while not ready.done():
                if report.is_due:
                    report.flush()
                wait([ready], LISTEN_SECONDS)
        ready.result()

    def _train(self, claim: ClaimedRun, report: RunReport) -> tuple[str, ...]:
        """Train the run in a process of its own, and write how it ended.

        Returns:
            Files that were edited after the fork server imported them; then nothing was trained. Otherwise empty.
        """
        with ExitStack() as ends:
            try:
                printed = Path(ends.enter_context(NamedTemporaryFile(prefix="normbench-", suffix=".log")).name)
                trainer = Trainer(self._job(claim, printed))
            except (OSError, EOFError) as error:
                self._defer_unstarted(report, error)
                return ()
            ends.callback(trainer.close)
            ends.callback(trainer.kill)
            return self._follow(claim, trainer, report, printed)

    def _defer_unstarted(self, report: RunReport, error: OSError | EOFError) -> None:
        """Give the run back, because no process can be started: files, memory or processes ran out."""
        self._in_trouble = True
        report.defer_run(f"its worker could not start the training: {type(error).__name__}: {error}")

    def _follow(self, claim: ClaimedRun, trainer: Trainer, report: RunReport, printed: Path) -> tuple[str, ...]:
        grace = 0.0 if claim.spec.get("kind") == "analysis" else self._settings.grace_seconds
        watch = Watch(trainer, report, self._settings, grace, self.stopping, MemoryWatch(trainer.pid, self._memory))
        try:
            notification = self._follow_to_end(claim.lease, report, watch)
        except LeaseLost:
            if watch.finished:
                self._tell_store(claim.lease, outputs.discard)
            raise
        if watch.changed:
            return watch.changed
        self._in_trouble = watch.trouble
        if notification is not None:
            self._notifier.notify([notification])
        self._tidy_up(claim.lease, printed, watch)
        return ()

    def _follow_to_end(self, lease: Lease, report: RunReport, watch: "Watch") -> Notification | None:
        """Follow the training to its end, store the curves if it is complete, and write how it ended."""
        write_end = watch.until_end()
        if watch.finished:
            curves = report.curves()
            try:
                outputs.store_curves(Artifacts(self._settings.artifacts_url), lease.run_id, lease.attempt, curves)
            except Exception as error:  # every file system has errors of its own
                report.defer_run(f"artifact store: {type(error).__name__}: {error}")
                watch.finished, watch.trouble = False, True
                return None
        return write_end()

    def _tidy_up(self, lease: Lease, printed: Path, watch: "Watch") -> None:
        """Store the log of an attempt that broke off, and remove files that are no longer needed. If this fails, files
        may stay.
        """
        if watch.broke_off:
            training_log.keep(self._settings.artifacts_url, lease.run_id, lease.attempt, printed)
        if watch.finished:
            self._tell_store(lease, outputs.settle)

    def _tell_store(self, lease: Lease, tidy: Callable[[Artifacts, str, int], None]) -> None:
        try:
            tidy(Artifacts(self._settings.artifacts_url), lease.run_id, lease.attempt)
        except Exception as error:  # every file system has errors of its own
            log.warning("files of %s stay: %s: %s", lease.run_id, type(error).__name__, error)

    def _job(self, claim: ClaimedRun, printed: Path) -> Job:
        return Job(
            run_id=claim.lease.run_id,
            attempt=claim.lease.attempt,
            seed=claim.seed,
            spec=claim.spec,
            started_attempt=claim.started_attempt,
            resumed_from=claim.resumed_from,
            model=claim.model,
            device=self._identity.device,
            no_kernels=self._no_kernels,
            changed=self._changed,
            threads=self._settings.threads,
            memory=self._memory,
            datasets_dir=self._settings.datasets_dir,
            artifacts_url=self._settings.artifacts_url,
            checkpoint_seconds=self._settings.checkpoint_seconds,
            log=printed,
            digests=known_digests(),
        )


WriteEnd = Callable[[], Notification | None]
"""Writes how the attempt ended; see ``RunReport``."""


class Watch:
    """Follows one training process: passes its messages to the report, and stops it when it must stop.

    Args:
        grace_seconds: time for a last checkpoint, before SIGKILL; 0 for an analysis, which writes no checkpoint.

    Attributes:
        finished: the training is complete; no longer true if its curves could not be stored.
        broke_off: the process died or hung without saying how it ended.
        trouble: something that the training needs, such as the artifact store, does not work.
        changed: files that were edited after the process imported them; if there are any, nothing was trained.
    """

    def __init__(
        self,
        trainer: Trainer,
        report: RunReport,
        settings: WorkerSettings,
        grace_seconds: float,
        stopping: threading.Event,
        memory: MemoryWatch,
    ) -> None:
        self.finished = self.broke_off = self.trouble = False
        self.changed: tuple[str, ...] = ()
        self._trainer, self._report = trainer, report
        self._settings, self._grace_seconds, self._stopping = settings, grace_seconds, stopping
        self._memory = memory
        self._last_message = time.monotonic()
        self._kill_at: float | None = None

    def until_end(self) -> WriteEnd:
        """Follow the process until it ends by itself, or until the worker ends it.

        Returns:
            A function that writes to the database how the process ended.

        Raises:
            LeaseLost: the run belongs to another attempt.
        """
        while True:
            message = self._trainer.next(timeout=LISTEN_SECONDS)
            end = self._take(message) if message is not None else self._check_trainer()
            end = end or self._check_memory()
            if end is not None:
                return end
            if self._report.is_due:
                self._flush()
            if self._kill_at is None and (self._report.cancel_requested or self._stopping.is_set()):
                self._kill_at = time.monotonic() + self._grace_seconds
                self._trainer.stop()

    def _flush(self) -> None:
        stored = self._report.flush()
        if stored is not None:
            self._trainer.tell(Stored(stored))

    def _take(self, message: Message) -> WriteEnd | None:
        self._last_message = time.monotonic()
        match message:
            case RunStarted():
                self._report.note_start(message)
            case Progress() | Measured() | Saved():
                self._report.note(message)
            case RunFinished() | Analysed():
                self.finished = True
                return lambda: self._report.write_result(message)
            case Troubled(reason):
                self.trouble = True
                return lambda: self._report.defer_run(reason)
            case Failed(error):
                return lambda: self._report.write_failure(error)
            case Stopped():
                return self._report_stop
            case CodeChanged(files):
                self.changed = files
                return lambda: None
        return None

    def _check_trainer(self) -> WriteEnd | None:
        now = time.monotonic()
        if self._trainer.is_gone:
            self.broke_off = True
            return self._report_stop if self._kill_at else self._explain_death()
        if self._kill_at is not None and now > self._kill_at:
            self._trainer.kill()
        elif now - self._last_message > self._settings.stall_seconds:
            self._trainer.kill()
            self.broke_off = True
            return lambda: self._report.write_loss(f"no progress for {self._settings.stall_seconds:g} s")
        return None

    def _explain_death(self) -> WriteEnd:
        ended = self._trainer.close()
        took = self._memory.explain_kernel_kill() if ended == KILLED else None
        if took is not None and self._memory.is_to_blame:
            return lambda: self._report.write_failure(f"out of memory: the kernel killed the training process: {took}")
        if took is not None:
            return lambda: self._report.write_loss(
                f"the machine was out of memory, and the kernel killed the training: {took}"
            )
        return lambda: self._report.write_loss(f"the training process was {ended}")

    def _check_memory(self) -> WriteEnd | None:
        excess = self._memory.excess()
        if excess is None:
            return None
        self._trainer.kill()
        self.broke_off = True
        return lambda: self._report.write_failure(f"out of memory: {excess}")

    def _report_stop(self) -> Notification | None:
        if self._report.cancel_requested:
            self._report.write_cancellation()
            return None
        return self._report.release_run("its worker stopped")
