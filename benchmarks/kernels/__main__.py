"""``python -m benchmarks.kernels``: compare fused recurrences with ``torch.nn`` and with our own reference."""

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.kernels.measuring import (
    BATCHES,
    QUICK,
    SHAPES,
    Times,
    best_product,
    measure,
)
from benchmarks.kernels.table import FLOORS, table, verdicts
from normcore.kernels.cpu.load import instruction_set, prepare
from normcore.memory import keep_freed_memory

QUICK_SECONDS = 0.3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    keep_freed_memory()  # as in runs of the service, for all contestants
    prepare()
    print(f"Instruction set {instruction_set()}, {os.cpu_count()} cores")
    everything: list[Times] = []
    for threads in options.threads:
        limit = best_product(threads)
        print(f"\n{threads} thread{'s' if threads > 1 else ''}; the best product runs at {limit / 1e9:.0f} GFLOP/s")
        for cell in options.cells:
            shapes = QUICK if options.quick else SHAPES
            seconds = {"seconds": QUICK_SECONDS} if options.quick else {}
            times = _shown(f"{cell}, by shape (T,B,F,H)", list(measure(cell, shapes, threads, **seconds)), limit)
            print("\n" + verdicts(cell, times))
            everything += times
            if options.batches:
                everything += _shown(f"{cell}, by batch", list(measure(cell, BATCHES, threads, **seconds)), limit)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(times) for times in everything], indent=1) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("--cells", nargs="+", choices=list(FLOORS), default=list(FLOORS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batches", action="store_true", help="the batch from 1 to 256 at (64,·,64,128), too")
    parser.add_argument("--quick", action="store_true", help="two small shapes in seconds: does it run at all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    return parser


def _shown(title: str, times: list[Times], limit: float) -> list[Times]:
    print(f"\n{title}\n")
    print(table(times, limit))
    return times


if __name__ == "__main__":
    raise SystemExit(main())
