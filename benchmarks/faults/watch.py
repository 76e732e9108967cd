"""Watch of the runs, as a client sees them: a thread polls the runs and stores every change."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from benchmarks.faults.api import Api
from benchmarks.faults.observations import ENDED, Sample
from benchmarks.processes import wait_until

LOOK_SECONDS = 0.02


class Watch:
    """Watch: polls the runs that were added, and has the samples of each."""

    def __init__(self, port: int) -> None:
        self._api = Api(port)
        self._samples: dict[str, list[Sample]] = {}
        self._stopping = threading.Event()

    def add(self, run_id: str) -> None:
        self._samples.setdefault(run_id, [])

    def samples(self, run_id: str) -> Sequence[Sample]:
        """Samples of a run so far, oldest first. Polls that showed no change are left out."""
        return self._samples[run_id]

    def latest(self) -> list[Sample]:
        """Last sample of every run."""
        return [samples[-1] for samples in list(self._samples.values()) if samples]

    def unfinished(self) -> list[str]:
        return [run_id for run_id, s in list(self._samples.items()) if not s or s[-1].state not in ENDED]

    def wait_for(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait at most ``seconds`` until a condition holds; return True if it holds."""
        try:
            wait_until(holds, seconds, every=LOOK_SECONDS)
        except RuntimeError:
            return False
        return True

    def look(self) -> None:
        """Poll every unfinished run until ``stop`` is called."""
        while not self._stopping.wait(LOOK_SECONDS):
            for run_id in self.unfinished():
                self._look_at(run_id)

    def stop(self) -> None:
        self._stopping.set()

    def _look_at(self, run_id: str) -> None:
        asked = time.monotonic()
        run = self._api.try_get(f"/v1/runs/{run_id}")
        if run is None:
            return
        sample = Sample(
            at=asked,
            run_id=run_id,
            state=run["state"],
            attempt=run["attempt"],
            step=run["progress"]["step"],
            resumed_from=run["resumed_from_step"],
        )
        before = self._samples[run_id]
        if not before or sample.shows_more_than(before[-1]):
            before.append(sample)


@contextmanager
def watching(port: int) -> Iterator[Watch]:
    """Run a watch that polls while the block runs."""
    watch = Watch(port)
    with ThreadPoolExecutor(1, "watch") as pool:
        looking = pool.submit(watch.look)
        try:
            yield watch
        finally:
            watch.stop()
            looking.result()
