"""A hundred faults on each backend, and a check that every accepted run still ends with the right numbers.

``scenario`` draws the plan. ``backends`` runs the service, with ``blackhole`` and ``disk`` below it. ``loads`` submits
runs, ``injuries`` causes the faults, and ``watch`` observes as a client. ``reference`` trains the same runs without
faults. ``observations`` defines the observed values, ``assessment`` compares them with the right values, and
``report`` prints the outcome. ``storm`` does all this for one backend.

``python -m benchmarks --only faults`` measures. ``python -m benchmarks.faults --help`` lists options for single faults.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.faults import report, scenario
from benchmarks.faults.assessment import assess
from benchmarks.faults.reference import undisturbed
from benchmarks.faults.scenario import Size
from benchmarks.faults.storm import storm
from benchmarks.number import Number

SEED = 8


def measure(scratch: Path) -> list[Number]:
    """Measure with 100 faults on each backend."""
    return run(scratch, scenario.FULL)


def measure_briefly(scratch: Path) -> list[Number]:
    """Measure for two minutes, with a few faults on each backend."""
    return run(scratch, scenario.BRIEF)


def run(
    scratch: Path, size: Size, *, backends: Sequence[str] = (), seed: int = SEED, break_lease: bool = False
) -> list[Number]:
    """Measure the named backends, or all; print a table of recovery for each, and all complaints.

    Args:
        seed: seed of the plan of faults.
        break_lease: True lets overtaken attempts write, so that the check must fail.
    """
    references = undisturbed(size.loads, scratch / "undisturbed")
    numbers: list[Number] = []
    for name in backends or size.faults:
        seen = storm(name, size, references, scratch / name, seed=seed, break_lease=break_lease)
        assessment = assess(seen)
        numbers += report.numbers(name, assessment, len(seen.injuries), size.least)
        print(report.kinds(name, assessment, [injury.kind for injury in seen.injuries], seen.outage) + "\n", flush=True)
        for complaint in report.complaints(name, assessment):
            print(f"faults: {complaint}", file=sys.stderr, flush=True)
    return numbers
