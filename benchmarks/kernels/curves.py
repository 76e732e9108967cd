"""``python -m benchmarks.kernels.curves``: compare trainings by the fused kernels with trainings by the reference.

Each seed trains ``permuted_digits`` (small) by both kernels. The table has the mean of the differences, fused minus
reference, with its 95% interval (t over the seeds). For comparison it has the standard deviation of the reference's
seeds.
"""

import argparse
import statistics
from collections.abc import Iterable, Sequence
from typing import cast

from scipy.stats import ttest_1samp

from normcore.events import Finished, Measured
from normcore.memory import keep_freed_memory
from normcore.spec import TrainingSpec, resolve
from normcore.training.loop import train

METHODS = ("layer_norm", "recurrent_batch_norm")
Curve = dict[str, float]  # values by a name that includes the step


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.curves", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how many (5)")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    print("| method | value | fused less reference | sd of the reference's seeds |\n| --- | --- | --- | --- |")
    for method in METHODS:
        fused, reference = (
            [_curve(method, kernel, seed) for seed in range(options.seeds)] for kernel in ("fused", "reference")
        )
        for value in fused[0]:
            of_both = [(ours[value], theirs[value]) for ours, theirs in zip(fused, reference, strict=True)]
            print(f"| {method} | {value} | {_difference(of_both)} |", flush=True)
    return 0


def _difference(of_both: Iterable[tuple[float, float]]) -> str:
    pairs = list(of_both)
    differences = [ours - theirs for ours, theirs in pairs]
    low, high = ttest_1samp(differences, 0).confidence_interval(0.95)
    spread = statistics.stdev(theirs for _, theirs in pairs)
    return f"{statistics.fmean(differences):+.3f} [{low:+.3f}, {high:+.3f}] | {spread:.3f}"


def _curve(method: str, kernel: str, seed: int) -> Curve:
    written = {
        "task": {"name": "permuted_digits", "profile": "small"},
        "norm": {"method": method},
        "training": {"kernel": kernel},
    }
    curve: Curve = {}
    for event in train(cast(TrainingSpec, resolve(written)), seed):
        if isinstance(event, Measured):
            curve[f"validation loss at {event.step}"] = event.values["valid.loss"]
        elif isinstance(event, Finished):
            curve["test accuracy"] = cast(float, event.result.value)
    return curve


if __name__ == "__main__":
    raise SystemExit(main())
