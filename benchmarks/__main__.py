"""Command ``python -m benchmarks``: measure, and print one table."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    faults,
    feedforward,
    latency,
    leaderboard,
    mlflow,
    overhead,
    pages,
    reporting,
    scale,
    servers,
    submitting,
    sweeps,
    waiting,
)
from benchmarks.machine import describe_machine
from benchmarks.number import Number, promises_kept
from benchmarks.table import markdown, plain

GROUPS: dict[str, Callable[[Path], list[Number]]] = {
    "submitting": submitting.measure,
    "servers": servers.measure,
    "reporting": reporting.measure,
    "overhead": overhead.measure,
    "latency": latency.measure,
    "leaderboard": leaderboard.measure,
    "scale": scale.measure,
    "pages": pages.measure,
    "sweeps": sweeps.measure,
    "feedforward": feedforward.measure,
    "waiting": waiting.measure,
    "faults": faults.measure,
}
BRIEF = {**GROUPS, "faults": faults.measure_briefly}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 1 if a promised target is missed, else 0."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds, so the servers end
    machine = describe_machine()
    if not mlflow.is_installed():
        _say("MLflow is not installed (pip install .[bench]); its columns stay empty")
    numbers: list[Number] = []
    groups: dict[str, Any] = {}
    for name in options.only or GROUPS:
        measured, groups[name] = _measure(name, BRIEF[name] if options.brief else GROUPS[name])
        numbers += measured
    print("{date}, commit {commit}, {cores} cores, {system}, Python {python}\n".format(**machine))
    print(markdown(numbers))
    print("\nLoad average of one minute, before and after: " + "; ".join(_load(n, g) for n, g in groups.items()))
    if options.json is not None:
        content = {"machine": machine, "groups": groups, "numbers": [plain(number) for number in numbers]}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if promises_kept(numbers) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=list(GROUPS), action="append", help="measure this group; repeatable (all)")
    parser.add_argument("--brief", action="store_true", help="two minutes of `faults` instead of an hour")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there, too")
    return parser


def _measure(name: str, measure: Callable[[Path], list[Number]]) -> tuple[list[Number], dict[str, float]]:
    before, began = os.getloadavg()[0], time.monotonic()
    _say(f"{name}: load average {before:.2f} …")
    with tempfile.TemporaryDirectory(prefix=f"bench-{name}-", ignore_cleanup_errors=True) as scratch:
        numbers = measure(Path(scratch))
    seconds, after = time.monotonic() - began, os.getloadavg()[0]
    _say(f"{name}: {seconds:.0f} s, load average {after:.2f}")
    return numbers, {"seconds": seconds, "load_before": before, "load_after": after}


def _load(name: str, group: dict[str, float]) -> str:
    return f"{name} {group['load_before']:.2f}, {group['load_after']:.2f}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
