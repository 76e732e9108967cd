"""``python -m benchmarks.kernels.end_to_end COMMIT``: time trainings by this checkout and another commit, in turns.

The time of an update is the difference between a training of n updates and one of 2 n updates, divided by n. A run is n
updates, one validation, the pass for population statistics, and the test. So a run trains less between measurements
than runs of the profile do. Both checkouts use the packages that are installed here.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.against import checkout
from benchmarks.number import Number, Target, number
from benchmarks.processes import ROOT
from benchmarks.table import markdown


class TrainingTimes(NamedTuple):
    """Training of a task, with so many updates that noise at the start does not matter."""

    task: dict[str, Any]
    updates: int


TRAININGS: Mapping[str, TrainingTimes] = {
    "permuted_mnist": TrainingTimes({"name": "permuted_mnist", "profile": "small"}, 40),
    "char_lm (ptb)": TrainingTimes({"name": "char_lm", "profile": "small", "corpus": "ptb"}, 200),
}
METHODS = ("none", "layer_norm", "recurrent_batch_norm")
FLOOR = Target("ratio", "at most", 0.5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.end_to_end", description=__doc__)
    parser.add_argument("commit", help="of this repository")
    parser.add_argument("--trainings", nargs="+", choices=list(TRAININGS), default=list(TRAININGS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--turns", type=int, default=3, help="how often each trains (3)")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="bench-end-to-end-", ignore_cleanup_errors=True) as scratch,
        checkout(options.commit, Path(scratch) / "other") as other,
    ):
        numbers = [
            one
            for name in options.trainings
            for method in options.methods
            for one in _beside(f"{name}, {method}", TRAININGS[name], method, other, options)
        ]
    print(markdown(numbers))
    return 0


def _beside(name: str, training: TrainingTimes, method: str, other: Path, options: argparse.Namespace) -> list[Number]:
    seen = [(_trained(ROOT, training, method), _trained(other, training, method)) for _ in range(options.turns)]
    return [
        number(
            f"{name}: {what}",
            "s",
            [ours[k] for ours, _ in seen],
            versus=options.commit,
            theirs=[theirs[k] for _, theirs in seen],
            target=FLOOR,
        )
        for k, what in enumerate(("an update", f"a run of {training.updates} updates"))
    ]


def _trained(source: Path, training: TrainingTimes, method: str) -> tuple[float, float]:
    """Seconds of one update, and seconds of a run."""
    spec = {"task": training.task, "norm": {"method": method}}
    trained, run = _run(source, spec, training.updates)
    twice, _ = _run(source, spec, 2 * training.updates, tested=False)
    return (twice - trained) / training.updates, run


def _run(source: Path, spec: dict[str, Any], updates: int, *, tested: bool = True) -> tuple[float, float]:
    """Train once; return the training seconds at the validation, and the seconds from the start until the test ended.

    Args:
        tested: False stops the training after the validation.
    """
    spec = {**spec, "training": {"max_steps": updates, "eval_every": updates}}
    command = [sys.executable, "-P", "-m", "normcore", "/dev/stdin"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(spec))
        process.stdin.close()
        began, validated = time.monotonic(), 0.0
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "started":
                began = time.monotonic()
            elif event["event"] == "measured":
                validated = event["seconds"]
                if not tested:
                    process.kill()
                    break
        seconds = time.monotonic() - began
    if tested and process.returncode != 0:
        raise RuntimeError(f"a training with the code of {source} ended with exit status {process.returncode}")
    return validated, seconds


if __name__ == "__main__":
    raise SystemExit(main())
