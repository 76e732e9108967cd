"""``python -m benchmarks.library``: a training step of ``normcore.nn.LSTM`` beside ``torch.nn.LSTM``, beside
layer-normalized LSTMs as people write them in Python, and beside other libraries, where they are installed."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.kernels.measuring import QUICK, SHAPES
from benchmarks.library.measuring import measure, read, write
from benchmarks.library.picture import svg
from benchmarks.library.table import table
from normcore.memory import keep_freed_memory

SECONDS, QUICK_SECONDS = 6.0, 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.library", description=__doc__)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="two small shapes in a minute: does it run at all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    parser.add_argument(
        "--draw",
        nargs=2,
        type=Path,
        metavar=("FILE", "PICTURE"),
        help="measure nothing: draw the numbers of a FILE as SVG",
    )
    options = parser.parse_args(arguments)
    if options.draw is not None:
        numbers, picture = options.draw
        picture.write_bytes(svg(read(numbers)))
        return 0
    keep_freed_memory()  # for all contestants
    torch.set_flush_denormal(True)
    panels = []
    for threads in options.threads:
        shapes, seconds = (QUICK, QUICK_SECONDS) if options.quick else (SHAPES, SECONDS)
        panels.append(measure(threads, shapes, seconds))
        print(f"\n{threads} thread{'s' if threads > 1 else ''}: a training step, divided by that of nn.LSTM\n")
        print(table(panels[-1]))
        print(f"\nA layer adds {panels[-1].added_microseconds:.0f} microseconds to a call of its kernel.", flush=True)
        if options.json is not None:
            write(panels, options.json)  # after each panel: the next one takes minutes
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
