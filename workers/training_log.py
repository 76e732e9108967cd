"""The training process' log: what it prints, torch's warnings and the traceback of a crash, in a file."""

import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from service.artifacts import LOG, Artifacts

MAX_BYTES = 256 * 1024  # only the end of a longer log is kept
LOOK_SECONDS = 5.0  # between two looks at a log that may have grown
log = logging.getLogger(__name__)
PATIENCE_SECONDS = 2.0  # for a write of the log that is under way, and may hang
_storing = threading.Lock()  # the write that begins last has the newest content


def write_to(path: Path) -> None:
    """Redirect to ``path`` what this process and its children print."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for standard in (sys.stdout, sys.stderr):
        standard.flush()
        os.dup2(file, standard.fileno())
    os.close(file)
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", force=True)
    logging.captureWarnings(True)


def keep(artifacts_url: str, run_id: str, attempt: int, path: Path) -> None:
    """Store the end of the log. If the store does not take it, the log is lost, but the run is not."""
    try:
        _store(artifacts_url, run_id, attempt, path)
    except Exception as error:  # every file system has errors of its own
        log.warning("the log of %s, attempt %d, is not kept: %s: %s", run_id, attempt, type(error).__name__, error)


@contextmanager
def kept_while_it_grows(artifacts_url: str, run_id: str, attempt: int, path: Path) -> Iterator[None]:
    """Store the log every ``LOOK_SECONDS`` during the block, if it has grown, so that the run's page can show it.

    A thread does it, so that the training does not wait for the store.
    """
    ended = threading.Event()

    def look() -> None:
        size = 0
        while not ended.wait(LOOK_SECONDS):
            with suppress(Exception):  # every file system has errors of its own; the next look tries again
                if (grown := path.stat().st_size) != size:
                    _store(artifacts_url, run_id, attempt, path)
                    size = grown

    thread = threading.Thread(target=look, name="log", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE_SECONDS)


def _store(artifacts_url: str, run_id: str, attempt: int, path: Path) -> None:
    if not _storing.acquire(timeout=PATIENCE_SECONDS):
        raise TimeoutError("an earlier write of the log got no answer")
    try:
        Artifacts(artifacts_url).write(run_id, attempt, LOG, _end(path))
    finally:
        _storing.release()


def _end(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= MAX_BYTES:
            return file.read()
        file.seek(size - MAX_BYTES)
        file.readline()  # the rest of a line
        return b"[...]\n" + file.read()
