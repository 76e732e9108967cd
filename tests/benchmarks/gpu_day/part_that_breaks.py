"""``python -m tests.benchmarks.gpu_day.part_that_breaks PART FOLDER SECONDS``: a part in place of a real one.

Its measurements count their calls in the file ``calls`` of the folder.
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.gpu_day.results import Case, Results

MACHINE = {"gpu": "made up", "interpreted": False}


def main() -> int:
    part, folder, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    results = Results.read(folder, part)
    results.measured_on(MACHINE)
    results.take(CASES[part](folder), seconds)
    return 0


def count(folder: Path, name: str, then: Callable[[], object] = lambda: None) -> dict[str, Any]:
    with (folder / "calls").open("a") as calls:
        calls.write(f"{name}\n")
    then()
    return {"name": name}


def fail() -> None:
    raise ValueError("seven is wrong")


def fail_on_device() -> None:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def case(folder: Path, name: str, then: Callable[[], object] = lambda: None, **options: Any) -> Case:
    return Case(name, partial(count, folder, name, then), **options)


def broken_in_all_ways(folder: Path) -> list[Case]:
    return [
        case(folder, "first"),
        case(folder, "crash", lambda: os._exit(11)),
        case(folder, "hang", lambda: time.sleep(60), stall=0.5),
        case(folder, "error", fail),
        case(folder, "device fault", fail_on_device),
        case(folder, "last"),
    ]


def slow(folder: Path) -> list[Case]:
    return [
        case(folder, "preparation", always=True),
        case(folder, "first"),
        case(folder, "second", lambda: time.sleep(0.5)),
        case(folder, "third"),
    ]


def endless(folder: Path) -> list[Case]:
    return [case(folder, "first"), case(folder, "endless", lambda: time.sleep(60)), case(folder, "third")]


CASES = {"broken": broken_in_all_ways, "slow": slow, "endless": endless}

if __name__ == "__main__":
    raise SystemExit(main())
