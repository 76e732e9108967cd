"""A hundred faults on each backend, and what became of the runs that were accepted.

``scenario`` draws the plan. ``backends`` runs the service, with ``blackhole`` and ``disk`` below it. ``loads`` keeps it
busy, ``injuries`` causes the faults, ``watch`` observes as a client, and ``reference`` trains the same runs without
faults. ``seen`` holds what was observed, ``verdict`` judges it, ``report`` prints it. ``storm`` does all that for one
backend.

``python -m benchmarks --only faults`` measures; ``python -m benchmarks.faults --help`` shows how to look closer.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.faults import report, scenario
from benchmarks.faults.reference import undisturbed
from benchmarks.faults.scenario import Size
from benchmarks.faults.storm import storm
from benchmarks.faults.verdict import judge
from benchmarks.number import Number

SEED = 8


def measure(scratch: Path) -> list[Number]:
    """100 faults on each backend."""
    return run(scratch, scenario.FULL)


def measure_briefly(scratch: Path) -> list[Number]:
    """Two minutes of it."""
    return run(scratch, scenario.BRIEF)


def run(
    scratch: Path, size: Size, *, backends: Sequence[str] = (), seed: int = SEED, break_lease: bool = False
) -> list[Number]:
    """Go through all backends, or those named; print a table of recovery for each, and what was wrong."""
    references = undisturbed(size.loads, scratch / "undisturbed")
    numbers: list[Number] = []
    for name in backends or size.faults:
        seen = storm(name, size, references, scratch / name, seed=seed, break_lease=break_lease)
        verdict = judge(seen)
        numbers += report.numbers(name, verdict, len(seen.injuries), size.least)
        print(report.kinds(name, verdict, [injury.kind for injury in seen.injuries], seen.outage) + "\n", flush=True)
        for complaint in report.complaints(name, verdict):
            print(f"faults: {complaint}", file=sys.stderr, flush=True)
    return numbers
