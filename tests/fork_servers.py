"""A fork server of the test's process with more environment variables, for tests that need no process of a worker."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from typing import Any
from unittest.mock import patch

from workers import fork_server


@contextmanager
def own_fork_server(**variables: str) -> Iterator[None]:
    """Replace the fork server by another, whose processes have more environment variables; end it at the end. The next
    process that is needed starts the usual fork server again.
    """
    with patch.dict(os.environ, variables):
        fork_server.restart("cpu")
    yield
    running: Any = forkserver._forkserver
    os.kill(running._forkserver_pid, signal.SIGKILL)
