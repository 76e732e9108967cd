"""One ``normbench up`` at a time in a data directory. The next one waits while the one before it is ending."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from service.processes.startup import StartupError, check_data_dir

ENDING_PATIENCE = 60.0  # seconds; workers take up to 45 to write their checkpoints and end
LOOK_SECONDS = 0.1  # between two looks at whether the other process has ended


@contextmanager
def sole_use(data_dir: Path, note: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Lock the data directory for one ``normbench up``. The kernel releases the lock when the process ends.

    Args:
        note: called with one line before a wait for a process that is ending.

    Yields:
        Function to call when this process begins to end. It may be called again.

    Raises:
        StartupError: another process holds the lock (the message names it), or the directory cannot be written to.
    """
    check_data_dir(data_dir)
    ending = data_dir / "up.ending"
    lock = _acquire(data_dir, ending, note)
    try:
        ending.unlink(missing_ok=True)  # only here: without the file, a process that still holds the lock is not ending
        (data_dir / "up.pid").write_text(f"{os.getpid()}\n")
        yield lambda: _touch(ending)
    finally:
        lock.release()


def _acquire(data_dir: Path, ending: Path, note: Callable[[str], None]) -> FileLock:
    """Acquire the lock, at once or when a process that is ending has ended."""
    lock = FileLock(data_dir / "up.lock", timeout=0)
    deadline = None
    while True:
        try:
            lock.acquire()
            return lock
        except Timeout:
            process = _process(data_dir)
        if not ending.exists():
            raise StartupError(
                f"`normbench up` runs in {data_dir} already{process};"
                " use that one, or set NORMBENCH_DATA_DIR to another directory"
            )
        if deadline is None:
            note(f"waiting for the `normbench up`{process} in {data_dir}, which is ending")
            deadline = time.monotonic() + ENDING_PATIENCE
        elif time.monotonic() > deadline:
            raise StartupError(
                f"`normbench up`{process} in {data_dir} has not ended in {ENDING_PATIENCE:g} s;"
                " try again when it has, or set NORMBENCH_DATA_DIR to another directory"
            )
        time.sleep(LOOK_SECONDS)


def _touch(file: Path) -> None:
    with suppress(OSError):  # a full disk; then the next process is refused instead of waiting
        file.touch()


def _process(data_dir: Path) -> str:
    holder = data_dir / "up.pid"
    return f" (process {holder.read_text().strip()})" if holder.exists() else ""
