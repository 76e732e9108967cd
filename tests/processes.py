"""Service as real processes, started as an operator starts them. Tests kill and restart them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import psutil

from service.processes.startup import prepare
from service.settings import Settings, read_settings
from tests.servers import free_port
from tests.service.live import live_api

ENDED = {"succeeded", "failed", "cancelled"}
READY_SECONDS = 60.0
BUSY = 3  # waiting times are multiplied by this, for busy machines
PAUSE_SECONDS = 0.1  # between two questions, which cost the API and the test a few milliseconds each


class Service:
    """Processes with the same environment, and a client of their API.

    Args:
        variables: ``NORMBENCH_*`` variables without the prefix, in lower case.
    """

    def __init__(self, folder: Path, **variables: object) -> None:
        self.folder, self.data_dir, self.port = folder, folder / "data", free_port()
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=120)
        settings = {"data_dir": self.data_dir, "threads": 1, **variables}
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("NORMBENCH_")}
        self.environment |= {f"NORMBENCH_{name.upper()}": str(value) for name, value in settings.items()}
        self.running: list[subprocess.Popen[bytes]] = []
        self._up: subprocess.Popen[bytes] | None = None
        self._api = ExitStack()

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start ``normbench ARGUMENTS`` in a new process group, with its output in a log."""
        with (self.folder / f"{arguments[0]}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "normbench", *arguments],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def up(self) -> subprocess.Popen[bytes]:
        """Start ``normbench up`` unless it runs, and wait until it is ready."""
        up = self.start_up() if self._up is None or self._up.poll() is not None else self._up
        self.wait_ready()
        return up

    def start_up(self) -> subprocess.Popen[bytes]:
        """Start ``normbench up``, although the one before it may not have ended yet."""
        self._up = self.start("up", "--port", str(self.port))
        return self._up

    def serve(self) -> None:
        """Start the API in the test's process, which has imported it already. No process of the service stops it."""
        with patch.dict(os.environ, self.environment, clear=True):
            settings = read_settings(Settings)
        prepare(settings).close()
        self.http.base_url = httpx.URL(self._api.enter_context(live_api(settings)))

    def work(self) -> subprocess.Popen[bytes]:
        """Start the API in the test's process, and a worker as a process, for tests of workers alone."""
        self.serve()
        return self.start("worker", "--device", "cpu")

    def close(self) -> None:
        self.kill_all()
        self.http.close()
        self._api.close()

    def cluster(self) -> dict[str, subprocess.Popen[bytes]]:
        """Start API, scheduler and one worker as separate processes, and wait until they are ready."""
        processes = {
            "api": self.start("api", "--port", str(self.port)),
            "scheduler": self.start("scheduler"),
            "worker": self.start("worker", "--device", "cpu"),
        }
        self.wait_ready()
        return processes

    def wait_ready(self) -> None:
        def is_ready() -> bool:
            try:
                return self.http.get("/readyz").status_code == httpx.codes.OK
            except httpx.TransportError:
                return False

        until(is_ready, READY_SECONDS, self.logs)

    def kill_all(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to every started process and to its children; then wait for the processes."""
        family = [psutil.Process(process.pid) for process in self.running if process.poll() is None]
        family += [child for process in family for child in process.children(recursive=True)]
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.send_signal(number)
        psutil.wait_procs(family, timeout=60)
        for process in self.running:
            process.wait(60)
        self.running.clear()

    def logs(self) -> str:
        return "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in sorted(self.folder.glob("*.log")))

    # -- what a user does ------------------------------------------------------------------------

    def get(self, path: str, **params: Any) -> Any:
        answer = self.http.get(path, params=params)
        assert answer.status_code == httpx.codes.OK, answer.text
        return answer.json()

    def submit(self, method: str = "layer_norm", seeds: tuple[int, ...] = (0,), **parts: Any) -> dict[str, Any]:
        """Submit a smoke run of permuted_digits."""
        spec = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": method}, **parts}
        return self.submit_spec({**spec, "seeds": list(seeds)})

    def submit_spec(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        answer = self.http.post("/v1/experiments", json=spec)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        submitted: dict[str, Any] = answer.json()
        return submitted

    def cancel_all(self) -> None:
        """Cancel all experiments, so that no run is queued or running."""
        waiting = [e for e in self.get("/v1/experiments", limit=100)["items"] if e["state"] not in ENDED]
        for experiment in waiting:
            self.http.post(f"/v1/experiments/{experiment['id']}/cancel")
        for experiment in waiting:
            self.wait_ended(experiment)

    def run_of(self, experiment: Mapping[str, Any]) -> Any:
        """Return the first run of an experiment in its present state."""
        return self.get(f"/v1/experiments/{experiment['id']}")["runs"][0]

    def wait_for(self, experiment: Mapping[str, Any], what: Callable[[Any], bool], seconds: float = 60.0) -> Any:
        """Wait until ``what`` is true for the first run of an experiment; return the run."""

        def is_there() -> Any:
            run = self.run_of(experiment)
            return run if what(run) else None

        return until(is_there, seconds, lambda: f"{self.run_of(experiment)}\n{self.logs()}")

    def wait_for_step(self, experiment: Mapping[str, Any], step: int) -> Any:
        """Wait until the first run trains and has done a number of steps; return the run. From then on other processes
        go before its training, which would go on for longer than its test and use a core.
        """
        run = self.wait_for(experiment, lambda run: run["state"] == "running" and run["progress"]["step"] >= step)
        for worker in self.get("/v1/workers")["items"]:
            for training in training_processes(worker["pid"]):
                with suppress(psutil.NoSuchProcess):
                    training.nice(10)
        return run

    def wait_ended(self, experiment: Mapping[str, Any], seconds: float = 120.0) -> Any:
        return self.wait_for(experiment, lambda run: run["state"] in ENDED, seconds)

    def wait_succeeded(self, experiment: Mapping[str, Any], seconds: float = 120.0) -> None:
        """Wait until all runs of the experiment have succeeded."""

        def has_succeeded() -> bool:
            return bool(self.get(f"/v1/experiments/{experiment['id']}")["state"] == "succeeded")

        until(has_succeeded, seconds, lambda: f"{self.run_of(experiment)}\n{self.logs()}")

    def curves(self, run_id: str) -> dict[str, list[list[float]]]:
        """Return steps and values of every series, without seconds, which differ between runs."""
        series = self.get(f"/v1/runs/{run_id}/measurements")["series"]
        return {name: [point[:2] for point in curve["points"]] for name, curve in series.items()}

    # -- processes of the worker -----------------------------------------------------------------

    def worker_pid(self) -> int:
        return int(self.get("/v1/workers")["items"][0]["pid"])

    def training_process(self) -> psutil.Process:
        """Find the training process of the first worker."""
        found: psutil.Process = until(lambda: next(training_processes(self.worker_pid()), None), 30.0, self.logs)
        return found


def training_processes(worker: int) -> Iterator[psutil.Process]:
    """Find the training processes of a worker: its descendants that lead a process group."""
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        family = psutil.Process(worker).children(recursive=True)
        yield from (process for process in family if os.getpgid(process.pid) == process.pid)


def until(holds: Callable[[], Any], seconds: float, explain: Callable[[], str]) -> Any:
    """Call ``holds`` until it returns a true value, and return that value."""
    deadline = time.monotonic() + BUSY * seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < deadline, f"not in {BUSY} times {seconds:g} s\n{explain()}"
        time.sleep(PAUSE_SECONDS)


@contextmanager
def service(folder: Path, **variables: object) -> Iterator[Service]:
    """Yield a service; at the end kill all its processes."""
    running = Service(folder, **variables)
    try:
        yield running
    finally:
        running.close()
