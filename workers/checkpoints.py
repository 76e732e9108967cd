"""Checkpoints of a run in the artifact store: when to write one, how many to keep, which to go on from."""

import re
import time
from collections.abc import Iterator

from service.artifacts import Artifacts

KEPT = 2  # the newest may be torn; then the one before it serves
NAME = re.compile(r"^checkpoint-(\d{12})\.pt$")


class Checkpoints:
    """The checkpoints of one run.

    The first is due once something was measured, so that a run which has shown results never starts over; then
    one every ``every_seconds``.
    """

    def __init__(self, store: Artifacts, run_id: str, every_seconds: float) -> None:
        self._store, self._run_id, self._every = store, run_id, every_seconds
        self._last = time.monotonic()
        self._first = True

    def is_due(self, *, measured: bool) -> bool:
        """Whether to write one now; ``measured`` says that this process has measured something."""
        return (self._first and measured) or time.monotonic() - self._last >= self._every

    def write(self, step: int, content: bytes) -> None:
        """Store a checkpoint and drop those that are no longer needed.

        Raises:
            OSError: the store is full, read-only or away.
        """
        self._store.write(self._run_id, f"checkpoint-{step:012d}.pt", content)
        for name in self._names()[KEPT:]:
            self._store.remove(self._run_id, name)
        self._last, self._first = time.monotonic(), False

    def newest_first(self) -> Iterator[tuple[str, bytes]]:
        """Names and contents of what is there."""
        for name in self._names():
            yield name, self._store.read(self._run_id, name)

    def clear(self) -> None:
        """The run has succeeded; nobody goes on from here."""
        for name in self._names():
            self._store.remove(self._run_id, name)

    def _names(self) -> list[str]:
        return sorted((a.name for a in self._store.list(self._run_id) if NAME.match(a.name)), reverse=True)
