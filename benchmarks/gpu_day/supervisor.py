"""Processes of the parts. A part that crashes or hangs is started again, without the measurement that broke."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gpu_day.one_part import REFUSED
from benchmarks.gpu_day.results import Results
from benchmarks.processes import ROOT, end_session, python_path

MODULE = "benchmarks.gpu_day.one_part"
GRACE_SECONDS = 20.0  # for the measurement that runs when the time of its part is over
START_SECONDS = 120.0  # longest time until a process begins a measurement
STOP_SECONDS = 15.0  # to end the servers that a part has started
LOOK_SECONDS = 0.2


def run_part(part: str, folder: Path, seconds: float, *options: str) -> int:
    """Run a part in a process of its own, again after a crash or a hang, until its time is over.

    Returns:
        The exit status of the last process: 0 if it ended by itself.
    """
    Results.read(folder, part).forgive()
    until = time.monotonic() + seconds
    status, before = 0, None
    while (left := until - time.monotonic()) > 0:
        command = [sys.executable, "-P", "-m", MODULE, part, str(folder), f"{left:g}", *options]
        status, why = _run(command, part, folder, until + GRACE_SECONDS)
        if status in (0, REFUSED) or why is None:
            return status
        results = Results.read(folder, part)
        results.end_broken(why)
        if results.content == before:
            return status  # it ended before it began a measurement, and would again
        before = results.content
    return status


def _run(command: Sequence[str], part: str, folder: Path, deadline: float) -> tuple[int, str | None]:
    """Run a process until it ends, its deadline passes or its measurement takes too long.

    Returns:
        The exit status, and how the process ended; None if its deadline passed.
    """
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT)}
    if "--interpret" in command:
        environment |= {"TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore::RuntimeWarning"}  # Triton's, of exp
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        progress, since = None, time.monotonic()
        while process.poll() is None:
            now, seen = time.monotonic(), Results.read(folder, part).content
            if seen != progress:
                progress, since = seen, now
            if now > deadline:
                print("the time was over", flush=True)
                return 0, None
            if now - since > (seen["stall"] if seen["begun"] else START_SECONDS):
                return 1, f"it did not end within {seen['stall']:g} s"
            time.sleep(LOOK_SECONDS)
    finally:
        end_session(process, STOP_SECONDS)
    return process.returncode, f"its process ended with status {process.returncode}"
