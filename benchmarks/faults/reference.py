"""Results of trainings without faults, by ``python -m normcore``, without the service."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.faults.assessment import without_seconds
from benchmarks.faults.observations import UndisturbedTraining
from benchmarks.faults.scenario import Load
from benchmarks.processes import ROOT


def undisturbed(loads: Sequence[Load], folder: Path) -> list[UndisturbedTraining]:
    """Train each load once, one after the other; return their measurements and results.

    Raises:
        subprocess.CalledProcessError: a training failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_train(load, folder / f"{number}.json") for number, load in enumerate(loads)]


def _train(load: Load, file: Path) -> UndisturbedTraining:
    file.write_text(json.dumps(load.body()))
    command = [sys.executable, "-m", "normcore", str(file)]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    events = [json.loads(line) for line in told.splitlines()]
    [finished] = [event for event in events if event["event"] == "finished"]
    return UndisturbedTraining(
        rows={
            (series, event["step"]): value
            for event in events
            if event["event"] == "measured"
            for series, value in event["values"].items()
        },
        result=without_seconds({**finished["result"], "outcome": finished["outcome"]}),
    )
