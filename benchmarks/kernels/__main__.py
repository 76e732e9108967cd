"""``python -m benchmarks.kernels``: fused recurrences beside ``torch.nn``'s and our own reference."""

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.kernels.measuring import (
    BATCHES,
    METHODS,
    QUICK,
    SHAPES,
    Times,
    best_product,
    geometric_mean,
    measure,
)
from normcore.kernels.cpu.load import instruction_set, prepare
from normcore.memory import keep_freed_memory

FLOORS = {"lstm": (1.1, 1.25), "gru": (1.3, 1.6), "rnn": (1.3, 1.6)}
"""What a training step may cost beside ``torch.nn``'s: in the geometric mean of the shapes, and at any of them."""
EVALUATION, REFERENCE, MEMORY = 1.2, 2.3, 1.25
QUICK_SECONDS = 0.3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    keep_freed_memory()  # as in runs, for all contestants
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
            print("\n" + _verdicts(cell, times))
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


def table(times: Sequence[Times], limit: float) -> str:
    """A row a shape and method.

    Args:
        limit: floating-point operations a second that a product can have.
    """
    head = (
        "shape",
        "method",
        "step",
        "/ torch.nn",
        "of pairs",
        "evaluation",
        "/ torch.nn",
        "reference / step",
        "kept / torch.nn",
        "products alone / step",
    )
    rows = [head, tuple("---" for _ in head), *(_cells(t, limit) for t in times)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cells(t: Times, limit: float) -> tuple[str, ...]:
    return (
        str(t.shape),
        t.method,
        f"{t.train * 1e3:.1f} ms",
        f"{t.train / t.theirs_train:.2f}",
        f"{min(t.pairs):.2f} to {max(t.pairs):.2f}",
        f"{t.evaluate * 1e3:.1f} ms",
        f"{t.evaluate / t.theirs_evaluate:.2f}",
        f"{t.reference / t.train:.1f}",
        f"{t.kept / t.theirs_kept:.2f}",
        f"{t.shape.products(t.cell, training=True) / limit / t.train:.2f}",
    )


def _verdicts(cell: str, times: Sequence[Times]) -> str:
    """A line a method: its figures over all shapes, beside the floors."""
    mean, most = FLOORS[cell]
    head = (
        "method",
        f"step / torch.nn, mean (floor {mean})",
        f"worst ({most})",
        f"evaluation, worst ({EVALUATION})",
        f"reference / step, least ({REFERENCE})",
        f"kept, worst ({MEMORY})",
    )
    rows = [head, tuple("---" for _ in head)]
    for method in METHODS:
        of_method = [t for t in times if t.method == method]
        ratios = [t.train / t.theirs_train for t in of_method]
        rows.append(
            (
                method,
                f"{geometric_mean(ratios):.2f}",
                f"{max(ratios):.2f}",
                f"{max(t.evaluate / t.theirs_evaluate for t in of_method):.2f}",
                f"{min(t.reference / t.train for t in of_method):.1f}",
                f"{max(t.kept / t.theirs_kept for t in of_method):.2f}",
            )
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
