"""Whole trainings by a worker of ``normbench up``: its trial of the kernels before the first run, trainings with the
kernels and with the reference, and a training whose worker is killed.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import ours
from benchmarks.gpu_day.device import Device
from benchmarks.gpu_day.exactness import compilation
from benchmarks.gpu_day.results import Case
from benchmarks.load import Connection, get, post
from benchmarks.processes import ROOT, wait_until
from normcore.kernels.gpu import check, verdicts
from normcore.spec.kernels import FUSED_PAIRS

METHODS = ("layer_norm", "recurrent_batch_norm", "none")
LINE = "fused kernels on this device:"
PATIENCE = 600.0  # more than the time of the part, whose process is then ended
KILLED_AFTER = 0.3  # part of the updates


def cases(device: Device) -> Iterator[Case]:
    """Yield the trial of the kernels, then trainings of the task ``char_lm``."""
    pairs, hidden = (FUSED_PAIRS[:1], (3,)) if device.interpreted else (FUSED_PAIRS, check.HIDDEN)
    yield compilation(device, pairs, hidden)
    yield Case("trial", partial(try_kernels, device), stall=PATIENCE)
    first, *others = METHODS
    yield from _trainings(device, first)
    yield Case("killed worker", partial(kill_worker, device), stall=PATIENCE)
    for method in [] if device.interpreted else others:
        yield from _trainings(device, method)


def _trainings(device: Device, method: str) -> Iterator[Case]:
    for kernel in ("auto", "reference"):
        yield Case(f"{method} by {kernel}", partial(train, device, method, kernel), stall=PATIENCE)


def spec(device: Device, method: str, kernel: str) -> dict[str, Any]:
    """Spec of a training; the text of ``char_lm`` comes with Python."""
    return {
        "task": {"name": "char_lm", "profile": "smoke" if device.interpreted else "small"},
        "norm": {"method": method},
        "training": {"kernel": kernel},
        "device": device.kind,
    }


def try_kernels(device: Device) -> dict[str, Any]:
    """Measure how long a worker takes until it claims its first run. Before, it tries the kernels that have no verdict
    on this kind of device; here they have been compiled.
    """
    before = len(verdicts.read(device.torch))
    with _service(device) as (folder, port):
        began = time.monotonic()
        run = _submit(port, spec(device, "layer_norm", "auto"))
        wait_until(lambda: _run(port, run["id"])["started_at"] is not None, PATIENCE)
        seconds = time.monotonic() - began
        log = (folder / "log").read_text().splitlines()
        lines = [line[line.index(LINE) :] for line in log if LINE in line]
    known = {" with ".join(pair): str(verdict) for pair, verdict in verdicts.read(device.torch).items()}
    tried = len(known) - before
    return {"seconds_to_claim": seconds, "tried": tried, "verdicts": known, "line": lines[-1] if lines else None}


def train(device: Device, method: str, kernel: str) -> dict[str, Any]:
    """Train, and tell the seconds and the test value."""
    with _service(device) as (_, port):
        return _describe(ours.finish(port, _submit(port, spec(device, method, kernel))["id"], seconds=PATIENCE))


def kill_worker(device: Device) -> dict[str, Any]:
    """Kill the worker in the middle of a training, and tell where the training went on."""
    with _service(device, checkpoint_seconds="0.5") as (_, port):
        run = _submit(port, spec(device, METHODS[0], "auto"))

        def has_trained() -> bool:
            progress = _run(port, run["id"])["progress"]
            return bool(progress["step"] > KILLED_AFTER * progress["max_steps"])

        wait_until(has_trained, PATIENCE)
        killed_at = _run(port, run["id"])["progress"]["step"]
        [worker] = [one for one in _ask(port, "/v1/workers")["items"] if one["run_id"]]
        os.kill(worker["pid"], signal.SIGKILL)
        found = ours.finish(port, run["id"], seconds=PATIENCE)
        return {**_describe(found), "killed_at": killed_at}


def _describe(run: dict[str, Any]) -> dict[str, Any]:
    result, steps = run["result"], run["progress"]["step"]
    began, ended = (datetime.fromisoformat(run[name]) for name in ("started_at", "finished_at"))
    return {
        "kernel": run["kernel"],
        "updates": steps,
        "seconds_per_update": result["train_seconds"] / steps,
        "seconds_in_all": (ended - began).total_seconds(),
        "timing": run["timing"],
        "metric": result["metric"],
        "value": result["value"],
        "attempt": run["attempt"],
        "resumed_from_step": run["resumed_from_step"],
    }


@contextmanager
def _service(device: Device, **settings: str) -> Iterator[tuple[Path, int]]:
    """Run ``normbench up`` with one worker for the device; give its folder and port."""
    with (
        tempfile.TemporaryDirectory(prefix="gpu-day-", ignore_cleanup_errors=True) as folder,
        ours.starting(device.kind, Path(folder), ROOT, **settings) as port,
    ):
        yield Path(folder), port


def _submit(port: int, written: dict[str, Any]) -> dict[str, Any]:
    [run] = _connected(port, lambda connection: connection.json(post("/v1/experiments", written)))["runs"]
    return dict(run)


def _run(port: int, run_id: str) -> dict[str, Any]:
    return _ask(port, f"/v1/runs/{run_id}")


def _ask(port: int, path: str) -> dict[str, Any]:
    return _connected(port, lambda connection: connection.json(get(path)))


def _connected(port: int, ask: Callable[[Connection], Any]) -> dict[str, Any]:
    connection = Connection(port)
    try:
        return dict(ask(connection))
    finally:
        connection.close()
