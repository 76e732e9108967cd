"""What every training gives when nothing happens to it: ``python -m normcore``, no service."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.faults.scenario import Load
from benchmarks.faults.seen import Undisturbed
from benchmarks.faults.verdict import without_seconds
from benchmarks.processes import ROOT


def undisturbed(loads: Sequence[Load], folder: Path) -> list[Undisturbed]:
    """Train each once, as many at a time as there are cores.

    Raises:
        subprocess.CalledProcessError: one did not end well.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        files = [folder / f"{number}.json" for number in range(len(loads))]
        return list(pool.map(_train, loads, files))


def _train(load: Load, file: Path) -> Undisturbed:
    file.write_text(json.dumps(load.body()))
    command = [sys.executable, "-m", "normcore", str(file)]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    events = [json.loads(line) for line in told.splitlines()]
    [finished] = [event for event in events if event["event"] == "finished"]
    return Undisturbed(
        rows={
            (series, event["step"]): value
            for event in events
            if event["event"] == "measured"
            for series, value in event["values"].items()
        },
        result=without_seconds({**finished["result"], "outcome": finished["outcome"]}),
    )
