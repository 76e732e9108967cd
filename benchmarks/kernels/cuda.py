"""``python -m benchmarks.kernels.cuda``: compare our recurrences on a GPU with cuDNN and with our own reference.

In float32, no contestant rounds factors to TF32. By default, torch allows this rounding for cuDNN only. The last table
says how much cuDNN gains by it.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch

from benchmarks.kernels import contestants
from benchmarks.kernels.contestants import Contestant, Shape
from benchmarks.kernels.measuring import METHODS, SHAPES, Times, compared, in_turns
from benchmarks.kernels.table import table, verdicts
from normcore import recurrent

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
SECONDS = 0.5
STARTS = 4  # passes that are not timed: kernels are compiled, and CUDA graphs recorded


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    torch.backends.cudnn.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")  # type: ignore[no-untyped-call]
    everything: list[Times] = []
    for precision in options.precisions:
        limit = best_product(PRECISIONS[precision])
        print(f"\nThe best product in {precision} runs at {limit / 1e12:.0f} TFLOP/s")
        for cell in options.cells:
            times = []
            for each in measure(cell, SHAPES, precision):
                times.append(each)
                print(table([each], limit).splitlines()[-1], flush=True)
                if options.json is not None:
                    options.json.write_text(json.dumps([asdict(t) for t in everything + times], indent=1) + "\n")
            print(f"\n{cell} in {precision}, by shape (T,B,F,H)\n\n{table(times, limit)}\n\n{verdicts(cell, times)}\n")
            everything += times
    print("\n" + rounded(options.cells))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.cuda", description=__doc__)
    cells = list(contestants.GATES)
    parser.add_argument("--cells", nargs="+", choices=cells, default=cells)
    parser.add_argument("--precisions", nargs="+", choices=list(PRECISIONS), default=list(PRECISIONS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    return parser


def measure(cell: str, shapes: Sequence[Shape], precision: str) -> Iterator[Times]:
    """Yield times of all methods at all shapes. bfloat16 is used by autocast, as in runs."""
    from normcore.kernels.gpu.unroll import unroll as fused_unroll  # needs triton

    for shape in shapes:
        x = torch.randn(shape[:3], device="cuda")
        grad = torch.randn(shape.steps, shape.batch, shape.hidden, device="cuda")
        for method in METHODS:
            ours, theirs, slow = (
                _on_gpu(contestant, precision)
                for contestant in (
                    contestants.by(fused_unroll, cell, method, shape),
                    contestants.of_torch(cell, shape),
                    contestants.by(recurrent.unroll, cell, method, shape),
                )
            )
            for _ in range(STARTS):
                ours.train(x, grad)
                ours.evaluate(x)
            yield compared(cell, method, shape, precision, (ours, theirs, slow), x, grad, SECONDS, turns=3, least=3)


def _on_gpu(contestant: Contestant, precision: str) -> Contestant:
    autocast = torch.autocast("cuda", PRECISIONS[precision]) if precision != "float32" else nullcontext()
    return replace(
        contestant,
        outputs=partial(_within, autocast, contestant),
        module=contestant.module.cuda(),
        ended=torch.cuda.synchronize,
    )


def _within(precision: AbstractContextManager[object], contestant: Contestant, x: torch.Tensor) -> torch.Tensor:
    with precision:
        return contestant.outputs(x).float()


def best_product(dtype: torch.dtype) -> float:
    """Floating-point operations per second of a large matrix product."""
    a = torch.randn(8192, 8192, device="cuda", dtype=dtype)

    def work() -> None:
        torch.mm(a, a)
        torch.cuda.synchronize()

    [samples] = in_turns([work], 1.0)
    return float(2 * 8192**3 / min(samples))


def rounded(cells: Sequence[str]) -> str:
    """Table of cuDNN's speed-up by rounding factors to TF32, which is torch's default; one row for each cell."""
    rows = [("cuDNN / cuDNN with TF32", *map(str, SHAPES)), tuple("---" for _ in range(len(SHAPES) + 1))]
    for cell in cells:
        gains = []
        for shape in SHAPES:
            x = torch.randn(shape[:3], device="cuda")
            grad = torch.randn(shape.steps, shape.batch, shape.hidden, device="cuda")
            contestant = _on_gpu(contestants.of_torch(cell, shape), "float32")

            def train(allowed: bool) -> None:
                torch.backends.cudnn.allow_tf32 = allowed
                contestant.train(x, grad)  # noqa: B023

            exact, fast = in_turns([partial(train, False), partial(train, True)], SECONDS)
            gains.append(f"{statistics.median(exact) / statistics.median(fast):.2f}")
        rows.append((cell, *gains))
    torch.backends.cudnn.allow_tf32 = False
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
