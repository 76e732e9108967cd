"""Process that keeps a core busy."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

HOG = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile True: pass"


@contextmanager
def one_core() -> Iterator[int]:
    """Limit this thread to a single core inside the block; yield the number of the core."""
    cores = os.sched_getaffinity(0)
    core = max(cores)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, cores)


@contextmanager
def hog(core: int) -> Iterator[None]:
    """Run a process that keeps this core busy inside the block."""
    with subprocess.Popen([sys.executable, "-c", HOG, str(core)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)  # after this the scheduler shares the core
        try:
            yield
        finally:
            process.kill()
