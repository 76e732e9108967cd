"""Checkpoints of a run in the artifact store: when to write one, how many to keep, which to resume from."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from service.artifacts import CHECKPOINT, Artifact, Artifacts
from service.errors import NotFound

KEPT = 2  # if the newest is torn, the run resumes from the one before


@dataclass(frozen=True, slots=True)
class Past:
    """Earlier attempts of a run, as they are in the database when a new attempt starts; see
    ``service.experiments.lifecycle.ClaimedRun``.
    """

    started_attempt: int
    resumed_from: int

    def allows(self, attempt: int, step: int) -> bool:
        """Tell if a checkpoint can be used: all measurements up to its step must be in the database or in the
        checkpoint.

        When an attempt starts at a step, measurements after that step are deleted. An earlier attempt that did not
        notice this may have written checkpoints after that step. Their measurements are lost, so they cannot be used.
        """
        return attempt >= self.started_attempt or step <= self.resumed_from


class Checkpoints:
    """The checkpoints of one run, as one attempt sees them.

    The first checkpoint is due after the first measurement, so that a run with results never starts again from the
    beginning. Then a checkpoint is due every ``every_seconds``.
    """

    def __init__(self, store: Artifacts, run_id: str, attempt: int, past: Past, every_seconds: float) -> None:
        self._store, self._run_id, self._attempt, self._past = store, run_id, attempt, past
        self._every = every_seconds
        self._last = time.monotonic()
        self._first = True

    def is_due(self, *, measured: bool) -> bool:
        """Tell if a checkpoint is due.

        Args:
            measured: whether this process has measured something.
        """
        return (self._first and measured) or time.monotonic() - self._last >= self._every

    def write(self, step: int, content: bytes) -> None:
        """Store a checkpoint, and remove checkpoints that are no longer needed. Checkpoints of later attempts stay.

        Raises:
            OSError: the store is full, is read-only, or does not answer.
        """
        self._store.write(self._run_id, self._attempt, f"checkpoint-{step:012d}.pt", content)
        stored = [c for c in _checkpoints(self._store, self._run_id) if c.attempt <= self._attempt]
        kept = [c for c in stored if self._is_usable(c)][:KEPT]
        for checkpoint in stored:
            if checkpoint not in kept:
                self._store.remove(self._run_id, checkpoint.attempt, checkpoint.name)
        self._last, self._first = time.monotonic(), False

    def newest_first(self) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of the checkpoints that the run may resume from, the newest first."""
        for checkpoint in _checkpoints(self._store, self._run_id):
            if self._is_usable(checkpoint):
                try:
                    content = self._store.read(self._run_id, checkpoint.attempt, checkpoint.name)
                except NotFound:  # removed meanwhile, by an attempt that does not know that it lost the run
                    continue
                yield f"{checkpoint.attempt}.{checkpoint.name}", content

    def _is_usable(self, checkpoint: Artifact) -> bool:
        return self._past.allows(checkpoint.attempt, _step(checkpoint))


def _checkpoints(store: Artifacts, run_id: str) -> list[Artifact]:
    """All checkpoints: the latest attempt first, and the latest step first within an attempt."""
    found = [a for a in store.list(run_id) if CHECKPOINT.fullmatch(a.name)]
    return sorted(found, key=lambda a: (a.attempt, _step(a)), reverse=True)


def _step(checkpoint: Artifact) -> int:
    match = CHECKPOINT.fullmatch(checkpoint.name)
    assert match is not None
    return int(match[1])
