"""Our service, started in one of three ways: API alone, ``normbench up``, or a cluster of processes."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.load import Connection, get, post
from benchmarks.processes import PATIENCE, ROOT, answers, free_port, python_path, running, wait_until

ENDED = ("succeeded", "failed", "cancelled")
SMOKE = post("/v1/experiments", {"task": {"name": "permuted_digits", "profile": "smoke"}, "device": "cpu"})


@contextmanager
def api(folder: Path, source: Path = ROOT, **settings: str) -> Iterator[int]:
    """Run ``normbench api`` of the checkout ``source``, without a worker; give its port."""
    with _service("api", folder, source, settings) as port:
        yield port


@contextmanager
def up(folder: Path, source: Path = ROOT, **settings: str) -> Iterator[int]:
    """Run ``normbench up`` of the checkout ``source``, with one CPU worker that has trained a run; give its port."""
    with starting("cpu", folder, source, **settings) as port:
        _worker_joined(port)
        warm_up(port)
        yield port


@contextmanager
def starting(device: str, folder: Path, source: Path = ROOT, **settings: str) -> Iterator[int]:
    """Run ``normbench up`` with one worker for ``device``, which may not claim runs yet; give the port."""
    with _service("up", folder, source, settings, "--device", device) as port:
        yield port


@contextmanager
def cluster(folder: Path, broker_url: str) -> Iterator[int]:
    """Run ``normbench api``, ``scheduler`` and a ``worker`` that has trained a run as processes; give the port."""
    settings = {"broker_url": broker_url}
    environment = environment_of(folder, ROOT, settings)
    with (
        _service("api", folder, ROOT, settings) as port,
        running(command("scheduler"), folder / "log", is_ready=lambda: True, environment=environment),
        running(command("worker", "--device", "cpu"), folder / "log", is_ready=lambda: True, environment=environment),
    ):
        _worker_joined(port)
        warm_up(port)
        yield port


def warm_up(port: int) -> None:
    """Train one smoke run, so that no later run waits for the imports of the fork server."""
    connection = Connection(port)
    [run] = connection.json(SMOKE)["runs"]
    finish(port, run["id"])
    connection.close()


def finish(port: int, run_id: str, *, every: float = 0.1, seconds: float = PATIENCE) -> dict[str, Any]:
    """Wait for the end of a run; return the run.

    Raises:
        RuntimeError: the run did not succeed.
    """
    run: dict[str, Any] = {}

    def has_ended() -> bool:
        connection = Connection(port)
        run.update(connection.json(get(f"/v1/runs/{run_id}")))
        connection.close()
        return run["state"] in ENDED

    wait_until(has_ended, seconds, every=every)
    if run["state"] != "succeeded":
        raise RuntimeError(f"{run_id} {run['state']}: {run['error']}")
    return run


@contextmanager
def _service(kind: str, folder: Path, source: Path, settings: Mapping[str, str], *options: str) -> Iterator[int]:
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    with running(
        command(kind, "--port", str(port), *options),
        folder / "log",
        is_ready=lambda: answers(port),
        environment=environment_of(folder, source, settings),
    ):
        connection = Connection(port)
        connection.send(get("/readyz"))
        connection.close()
        yield port


def command(kind: str, *options: str) -> list[str]:
    return [sys.executable, "-P", "-m", "normbench", kind, *options]


def environment_of(folder: Path, source: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Environment variables for a process that must run the code of ``source``, not the installed package."""
    given = {f"NORMBENCH_{name.upper()}": value for name, value in settings.items()}
    return {"PYTHONPATH": python_path(source), "NORMBENCH_DATA_DIR": str(folder), **given}


def _worker_joined(port: int) -> None:
    def is_there() -> bool:
        connection = Connection(port)
        workers = connection.json(get("/v1/workers"))["items"]
        connection.close()
        return bool(workers)

    wait_until(is_there)
