"""Check of the artifact store that does not wait for a store that hangs."""

import threading
from concurrent.futures import Future

from service.artifacts import Artifacts
from service.timed_calls import start

STORE_SECONDS = 3.0  # for the artifact store to take a few bytes


class StoreCheck:
    """Asks the artifact store to take a few bytes. If the store hangs, only one thread waits for it, however often
    ``problem`` is called.
    """

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._lock = threading.Lock()
        self._asked: Future[None] | None = None

    def problem(self) -> str | None:
        """Problem of the store, known within ``STORE_SECONDS``; None if it takes files."""
        with self._lock:
            if self._asked is None or self._asked.done():
                self._asked = start(self._artifacts.check_writable)
            asked = self._asked
        try:
            asked.result(STORE_SECONDS)
        except TimeoutError:
            return f"it does not answer within {STORE_SECONDS:g} s"
        except Exception as error:  # every file system has errors of its own
            return getattr(error, "strerror", None) or type(error).__name__
        return None
