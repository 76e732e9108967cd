"""The training process' log: what it prints, torch's warnings and the traceback of a crash, in a file."""

import faulthandler
import logging
import os
import sys
from pathlib import Path

from service.artifacts import LOG, Artifacts

MAX_BYTES = 256 * 1024  # only the end of a longer log is kept
log = logging.getLogger(__name__)


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
        Artifacts(artifacts_url).write(run_id, attempt, LOG, _end(path))
    except Exception as error:  # every file system has errors of its own
        log.warning("the log of %s, attempt %d, is not kept: %s: %s", run_id, attempt, type(error).__name__, error)


def _end(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= MAX_BYTES:
            return file.read()
        file.seek(size - MAX_BYTES)
        file.readline()  # the rest of a line
        return b"[...]\n" + file.read()
