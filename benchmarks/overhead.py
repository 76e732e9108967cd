"""Overhead of the service: a run through ``normbench up`` and one through ``python -m normcore``, in turns.

Both train the same spec on the same machine. *Train seconds* are the run's own clock, which stops while events are
handled. *Wall* is the time from just before the first update to the end. ``python -m normcore`` prints both events. For
the service, wall begins when ``environment.json`` is stored, and ends at the run's ``finished_at``. So wall includes
the work of the service: checkpoints, ``model.pt``, measurements and the result in the database. Each run through the
service has a new service, which is stopped while the other side trains.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks import ours
from benchmarks.load import Connection, post
from benchmarks.number import Number, Target, number
from benchmarks.processes import ROOT, wait_until

PAIRS = 11
LONGEST = 300.0  # seconds that a run may take
SPEC = {
    "task": {"name": "permuted_digits", "profile": "small"},
    "norm": {"method": "layer_norm"},
    "training": {"max_steps": 260, "eval_every": 20},
    "device": "cpu",
}
TARGET = Target("ratio", "at most", 1.02)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Times of one run, in seconds."""

    train_seconds: float
    wall_seconds: float


def measure(scratch: Path) -> list[Number]:
    sides: dict[str, Callable[[Path], RunTimes]] = {"served": _served, "alone": _alone}
    taken: dict[str, list[RunTimes]] = {name: [] for name in sides}
    for pair in range(PAIRS):
        for name in sorted(sides, reverse=bool(pair % 2)):
            folder = scratch / f"{name}-{pair}"
            folder.mkdir()
            taken[name].append(sides[name](folder))
    served, alone = taken["served"], taken["alone"]
    return [
        _number("train seconds", [run.train_seconds for run in served], [run.train_seconds for run in alone]),
        _number("wall, first step to end", [run.wall_seconds for run in served], [run.wall_seconds for run in alone]),
    ]


def _number(what: str, served: list[float], alone: list[float]) -> Number:
    return number(f"overhead: {what}", "s", served, versus="python -m normcore", theirs=alone, target=TARGET)


def _alone(folder: Path) -> RunTimes:
    spec = folder / "spec.json"
    spec.write_text(json.dumps(SPEC))
    command = [sys.executable, "-m", "normcore", str(spec)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            began = 0.0
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "started":
                    began = time.perf_counter()
                elif event["event"] == "finished":
                    return RunTimes(event["result"]["train_seconds"], time.perf_counter() - began)
        finally:
            process.kill()
    raise RuntimeError("python -m normcore ended without the event finished")


def _served(folder: Path) -> RunTimes:
    with ours.up(folder) as port:
        connection = Connection(port)
        [run] = connection.json(post("/v1/experiments", SPEC))["runs"]
        connection.close()
        artifacts = folder / "artifacts" / run["id"]
        wait_until(
            (artifacts / "1.model.pt").exists, LONGEST, every=0.2
        )  # asking the service would slow down the run that we measure
        ended = ours.finish(port, run["id"])
        began = (artifacts / "1.environment.json").stat().st_mtime
        finished = datetime.fromisoformat(ended["finished_at"]).timestamp()
        return RunTimes(ended["result"]["train_seconds"], finished - began)
