"""``python -m benchmarks.kernels.before COMMIT``: how much faster this checkout's kernels are than an old reference.

It times a training step by the fused kernels of this checkout and by the reference of another commit, in turns. The
reference itself has become faster since there are kernels, so only an old one shows the whole gain. Both use the
packages that are installed here. The other commit must be older than 2d39569, in which the arguments
of ``Recurrent`` changed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import torch

from benchmarks.against import checkout
from benchmarks.kernels.contestants import Shape, fused
from benchmarks.kernels.measuring import METHODS, SHAPES, geometric_mean, give_back_freed_memory, in_turns
from normcore.kernels.cpu.load import prepare
from normcore.memory import keep_freed_memory

FLOOR = 2.3
SECONDS = 12.0  # in which all pairs of a shape and a method are timed
THEIRS = """
import sys, torch
from normcore.memory import keep_freed_memory
from normcore.recurrent import Recurrent

cell, method, threads, *sizes = sys.argv[1:]
steps, batch, inputs, hidden = map(int, sizes)
keep_freed_memory()
torch.set_num_threads(int(threads))
torch.set_flush_denormal(True)
network = Recurrent(cell, inputs, hidden, norm={"method": method})
x, grad = torch.randn(steps, batch, inputs), torch.randn(steps, batch, hidden)
for _ in sys.stdin:
    for parameter in network.parameters():
        parameter.grad = None
    torch.autograd.backward(network(x)[0], grad)
    print(flush=True)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.before", description=__doc__)
    parser.add_argument("commit", help="of this repository")
    parser.add_argument("--cells", nargs="+", choices=("lstm", "gru", "rnn"), default=("lstm", "gru", "rnn"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    keep_freed_memory()
    prepare()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    with (
        tempfile.TemporaryDirectory(prefix="bench-before-", ignore_cleanup_errors=True) as scratch,
        checkout(options.commit, Path(scratch) / "other") as other,
    ):
        for cell in options.cells:
            _show(cell, other, options)
    return 0


def _show(cell: str, other: Path, options: argparse.Namespace) -> None:
    """Print a table with one row for each shape, as soon as it is measured, and the geometric mean of all shapes."""
    head = [f"{cell}, {options.threads} thread{'s' if options.threads > 1 else ''}", *METHODS]
    print("\n" + _row(head) + "\n" + _row(["---"] * len(head)), flush=True)
    ratios: list[list[float]] = []
    for shape in SHAPES:
        ratios.append([_ratio(cell, method, shape, other, options.threads) for method in METHODS])
        print(_row([str(shape), *(f"{ratio:.1f}" for ratio in ratios[-1])]), flush=True)
    means = [geometric_mean(of_method) for of_method in zip(*ratios, strict=True)]
    print(_row([f"geometric mean (floor {FLOOR})", *(f"{mean:.2f}" for mean in means)]), flush=True)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _ratio(cell: str, method: str, shape: Shape, other: Path, threads: int) -> float:
    """Median seconds of the other commit's step, divided by the median of ours."""
    ours = fused(cell, method, shape)
    x, grad = torch.randn(shape[:3]), torch.randn(shape.steps, shape.batch, shape.hidden)
    give_back_freed_memory()
    with _theirs(cell, method, shape, other, threads) as step:
        mine, theirs = in_turns([lambda: ours.train(x, grad), step], SECONDS)
    return median(theirs) / median(mine)


@contextmanager
def _theirs(cell: str, method: str, shape: Shape, other: Path, threads: int) -> Iterator[Callable[[], None]]:
    """Start a process with the other commit's code; give a function that lets the process make one training step."""
    arguments = [cell, method, str(threads), *map(str, shape)]
    environment = {**os.environ, "PYTHONPATH": str(other)}
    with subprocess.Popen(
        [sys.executable, "-P", "-c", THEIRS, *arguments],
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        asked, done = process.stdin, process.stdout
        assert asked is not None
        assert done is not None

        def step() -> None:
            asked.write("\n")
            asked.flush()
            if not done.readline():
                raise RuntimeError(f"the process of the other commit ended, with exit status {process.wait()}")

        try:
            yield step
        finally:
            asked.close()


if __name__ == "__main__":
    raise SystemExit(main())
