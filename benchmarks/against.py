"""``python -m benchmarks.against COMMIT``: compare this checkout with another commit, measured in turns.

It measures submitting, a board of 1,000 entries, and the first step, which any change of the service may slow down.
Both commits use the packages that are installed here. A commit with other requirements needs its own environment.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from benchmarks import latency, leaderboard, ours, submitting
from benchmarks.load import Burst, Connection, burst, post
from benchmarks.number import Number, Target, number, percentile
from benchmarks.processes import ROOT
from benchmarks.table import markdown

T = TypeVar("T")
Sources = Mapping[str, Path]  # by ``ours`` and ``theirs``; samples have the same keys
Samples = Mapping[str, Sequence[float]]
Start = Callable[[Path, Path], AbstractContextManager[int]]

BURSTS, BOARDS, FIRST_STEPS = 12, 60, 20
FILL = """
import pathlib, sys
from benchmarks import leaderboard
leaderboard.fill(leaderboard.on_sqlite(pathlib.Path(sys.argv[1])), leaderboard.SMALL)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("commit", help="of this repository")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="bench-against-", ignore_cleanup_errors=True) as scratch,
        checkout(options.commit, Path(scratch) / "other") as other,
    ):
        numbers = measure(Path(scratch), {"ours": ROOT, "theirs": other}, options.commit)
    print(markdown(numbers))
    return 0


@contextmanager
def checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Check out the files of a commit into ``folder`` while the block runs."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def measure(scratch: Path, sources: Sources, commit: str) -> list[Number]:
    """Measure all numbers of ``ours`` and ``theirs``."""
    rates, slowest = _submitting(scratch / "api", sources)
    boards, first_steps = _boards(scratch / "board", sources), _first_steps(scratch / "up", sources)

    def beside(name: str, unit: str, samples: Samples, target: Target | None = None) -> Number:
        return number(name, unit, samples["ours"], versus=commit, theirs=samples["theirs"], target=target)

    return [
        beside("submitting: rate", "/s", rates, Target("ratio", "at least", 1)),
        beside("submitting: p99", "ms", slowest),
        beside("leaderboard of 1,000 entries", "ms", boards, Target("ratio", "at most", 1)),
        beside("first step", "ms", first_steps, Target("ratio", "at most", 1)),
    ]


def _submitting(scratch: Path, sources: Sources) -> tuple[Samples, Samples]:
    """Answers per second, and 99th percentile of the milliseconds to an answer, for each burst."""
    with _both(ours.api, scratch, sources) as ports:
        for port in ports.values():
            _burst(port)  # not counted, as it fills caches
        bursts = _in_turns(lambda name: _burst(ports[name]), BURSTS)
    rates = {name: [one.rate for one in seen] for name, seen in bursts.items()}
    return rates, {name: [1000 * percentile(99)(one.latencies) for one in seen] for name, seen in bursts.items()}


def _burst(port: int) -> Burst:
    experiment = post("/v1/experiments", submitting.SPEC)
    return burst(port, lambda: experiment, clients=submitting.CLIENTS, seconds=submitting.BURST_SECONDS)


def _boards(scratch: Path, sources: Sources) -> Samples:
    """Milliseconds until a board is answered. Each commit's own code has filled its database."""
    for name, source in sources.items():
        environment = {**os.environ, "PYTHONPATH": str(source)}
        subprocess.run([sys.executable, "-P", "-c", FILL, str(scratch / name)], env=environment, check=True)
    with _both(ours.api, scratch, sources) as ports:
        connections = {name: Connection(port) for name, port in ports.items()}
        for connection in connections.values():
            connection.send(leaderboard.BOARD)
        return _in_turns(lambda name: 1000 * connections[name].timed(leaderboard.BOARD), BOARDS)


def _first_steps(scratch: Path, sources: Sources) -> Samples:
    """Milliseconds from sending a POST until the run that it started shows a step."""
    pause = random.Random(0)

    def submit(port: int) -> float:
        time.sleep(pause.uniform(*latency.PAUSE_SECONDS))
        return latency.submit(port).first_step

    with _both(ours.up, scratch, sources) as ports:
        return _in_turns(lambda name: submit(ports[name]), FIRST_STEPS)


@contextmanager
def _both(start: Start, scratch: Path, sources: Sources) -> Iterator[dict[str, int]]:
    """Run both services at once; give their ports."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(start(scratch / name, source)) for name, source in sources.items()}


def _in_turns(measure_one: Callable[[str], T], rounds: int) -> dict[str, list[T]]:
    """Measure both sides in each round. The side that comes first alternates."""
    samples: dict[str, list[T]] = {"ours": [], "theirs": []}
    for turn in range(rounds):
        for name in sorted(samples, reverse=bool(turn % 2)):
            samples[name].append(measure_one(name))
    return samples


if __name__ == "__main__":
    sys.exit(main())
