"""The training process: it executes one run and ends. Only this module and ``training`` import torch."""

import errno
import logging
import os
import signal
import threading
from multiprocessing.connection import Connection

from normcore.data.registry import DatasetError
from normcore.events import Analysed
from normcore.kernels.cpu.load import forgo
from normcore.memory import keep_freed_memory
from normcore.source_files import keep_digests
from normcore.spec.plug_ins.errors import CannotRun
from workers import memory, training_log
from workers.loaded_code import LOADED
from workers.messages import CodeChanged, Failed, Job, RunFinished, Stopped, Stored, Troubled, name_files
from workers.training import CodeEdited, OlderModel, TrainingAttempt, Trouble, UnstoredMeasurements

PASSING = {  # errors of the machine, which have nothing to do with what is trained
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EROFS", "EIO", "ESTALE", "EMFILE", "ENFILE", "ENODEV", "ENXIO", "ENOTCONN"),
        *("ETIMEDOUT", "ENETDOWN", "ENETUNREACH", "EHOSTDOWN", "EHOSTUNREACH", "ECONNREFUSED", "ECONNRESET"),
    )
}
log = logging.getLogger(__name__)


def work(job: Job, worker: Connection) -> None:
    """Execute the run and report to the worker. SIGTERM stops it with a checkpoint; if the worker is gone, it exits."""
    os.setsid()
    keep_freed_memory()
    memory.restrict(job.memory, job.device)
    stop, unstored = threading.Event(), UnstoredMeasurements()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_listen, args=(worker, unstored), daemon=True).start()
    keep_digests(job.digests)
    changed = LOADED.list_changed_files()
    if changed:
        worker.send(CodeChanged(changed))
        return
    with training_log.kept_while_it_grows(job.artifacts_url, job.run_id, job.attempt, job.log):
        end = _execute(job, worker, stop, unstored)
    training_log.keep(job.artifacts_url, job.run_id, job.attempt, job.log)
    worker.send(end)


def _execute(
    job: Job, worker: Connection, stop: threading.Event, unstored: UnstoredMeasurements
) -> RunFinished | Analysed | Stopped | Troubled | Failed | CodeChanged:
    """Execute the run, and return the message that says how it ended."""
    try:
        training_log.write_to(job.log)
        if job.changed:
            log.info("a fresh process, because code was edited since the last training: %s", name_files(job.changed))
        if job.no_kernels is not None:
            forgo(job.no_kernels)
        return TrainingAttempt(job, worker, stop, unstored).until_end()
    except CodeEdited as error:
        log.info("%s", error)
        return CodeChanged(error.files)
    except (CannotRun, OlderModel) as error:
        log.error("%s", error)
        return Failed(str(error))
    except Exception as error:
        if memory.ran_out(error):
            memory.forgive()
            log.exception("the training ran out of memory")
            cause = " ".join(str(error).split())[:300] or type(error).__name__
            return Failed(f"out of memory: its worker gives it {memory.in_words(job.memory)}: {cause}")
        if isinstance(error, (Trouble, DatasetError)):
            log.warning("%s", error)
            return Troubled(str(error))
        log.exception("the training broke off")
        cause = f"{type(error).__name__}: {error}"
        return Troubled(cause) if isinstance(error, OSError) and error.errno in PASSING else Failed(cause)


def _listen(worker: Connection, unstored: UnstoredMeasurements) -> None:
    """Receive messages about which measurements are stored; exit when the worker is gone."""
    try:
        while True:
            message = worker.recv()
            assert isinstance(message, Stored)
            unstored.drop_stored(message.step)
    except (EOFError, OSError):
        os._exit(1)
