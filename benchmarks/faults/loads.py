"""Load of the service: as many runs as workers, so that a run that was hit never waits for another run."""

import itertools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.faults.api import Api
from benchmarks.faults.scenario import Load
from benchmarks.faults.watch import Watch

LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class AcceptedRun:
    """Run that the service has accepted. ``training`` is the index of its load."""

    run_id: str
    experiment_id: str
    training: int


class Loader:
    """Loader: submits the loads in turns, the next one as soon as a run has ended."""

    def __init__(self, port: int, loads: Sequence[Load], watch: Watch, in_flight: int) -> None:
        self.accepted: list[AcceptedRun] = []
        self.cancelled: dict[str, int] = {}  # by id of the run: its attempt when the cancel was sent
        self._api, self._cancelling = Api(port), Api(port)
        self._loads, self._watch, self._in_flight = loads, watch, in_flight
        self._stopping = threading.Event()

    def submit(self) -> None:
        """Submit loads until ``stop`` is called."""
        for number in itertools.count():
            while len(self._watch.unfinished()) >= self._in_flight and not self._stopping.is_set():
                self._stopping.wait(LOOK_SECONDS)
            if self._stopping.is_set():
                return
            training = number % len(self._loads)
            experiment = self._api.submit(self._loads[training].body(), f"load-{number}")
            [run] = experiment["runs"]
            self.accepted.append(AcceptedRun(run["id"], experiment["id"], training))
            self._watch.add(run["id"])

    def cancel(self, run_id: str) -> None:
        """Cancel a run; return when the service has accepted the cancel."""
        experiment_id = next(a.experiment_id for a in self.accepted if a.run_id == run_id)
        attempt = self._watch.samples(run_id)[-1].attempt
        self.cancelled[run_id] = attempt
        self._cancelling.cancel(experiment_id)

    def stop(self) -> None:
        self._stopping.set()


@contextmanager
def loading(port: int, loads: Sequence[Load], watch: Watch, in_flight: int) -> Iterator[Loader]:
    """Run a loader that submits while the block runs.

    Raises:
        RuntimeError: the service refused a load, or did not answer for a long time.
    """
    loader = Loader(port, loads, watch, in_flight)
    with ThreadPoolExecutor(1, "loader") as pool:
        submitting = pool.submit(loader.submit)
        try:
            yield loader
        finally:
            loader.stop()
            submitting.result()
