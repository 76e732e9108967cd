"""Times of contestants that take turns, so that a slow machine slows all contestants."""

import ctypes
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import torch
from torch import Tensor

from benchmarks.kernels.contestants import Contestant, Shape, evaluated, fused, of_torch, reference

METHODS = ("none", "layer_norm", "recurrent_batch_norm", "rms_norm")
SHAPES = (
    Shape(784, 100, 1, 100),
    Shape(100, 64, 50, 1000),
    Shape(500, 8, 60, 400),
    Shape(150, 64, 240, 240),
    Shape(30, 128, 300, 1024),
    Shape(64, 64, 1, 100),
)
BATCHES = tuple(Shape(64, batch, 64, 128) for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256))
QUICK = (Shape(64, 64, 1, 100), Shape(20, 32, 64, 128))
SECONDS, LEAST, MOST = 3.0, 5, 60  # time for all pairs of one comparison; least and most pairs


@dataclass(frozen=True, slots=True)
class Times:
    """Times of one method at one shape, by our kernels and by ``torch.nn`` (``theirs_…``); medians in seconds.

    Attributes:
        setting: number of threads of a processor, or precision of a GPU.
        pairs: for each pair of training steps, our seconds divided by those of ``torch.nn``.
        reference: seconds of a training step by the reference.
        kept, theirs_kept: bytes saved for the backward pass, by us and by ``torch.nn``.
    """

    cell: str
    method: str
    shape: Shape
    setting: str
    train: float
    theirs_train: float
    evaluate: float
    theirs_evaluate: float
    pairs: tuple[float, ...]
    reference: float
    kept: int
    theirs_kept: int


def measure(cell: str, shapes: Sequence[Shape], threads: int, *, seconds: float = SECONDS) -> Iterator[Times]:
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # as in runs
    for shape in shapes:
        x, grad = torch.randn(shape[:3]), torch.randn(shape.steps, shape.batch, shape.hidden)
        for method in METHODS:
            if method == "recurrent_batch_norm" and shape.batch < 2:
                continue
            theirs, ours, slow = of_torch(cell, shape), fused(cell, method, shape), reference(cell, method, shape)
            give_back_freed_memory()
            setting = f"{threads} thread{'s' if threads > 1 else ''}"
            yield compared(cell, method, shape, setting, (ours, theirs, slow), x, grad, seconds)


def compared(
    cell: str,
    method: str,
    shape: Shape,
    setting: str,
    contestants: tuple[Contestant, Contestant, Contestant],
    x: Tensor,
    grad: Tensor,
    seconds: float,
    *,
    turns: int = 1,
    least: int = LEAST,
    starts: int = 0,
) -> Times:
    """Measure our kernels, ``torch.nn`` and the reference; ``contestants`` are in this order.

    Args:
        turns: turns of our kernels and of ``torch.nn`` for each turn of the reference.
        least: least number of turns of the reference, and of the evaluations.
        starts: passes of our kernels that come first and are not timed, in training and in evaluation. On a GPU,
            kernels are compiled and CUDA graphs recorded.
    """
    ours, theirs, slow = (partial(contestant.train, x, grad) for contestant in contestants)
    for _ in range(starts):
        ours()
    kept, theirs_kept = (contestant.kept(x) for contestant in contestants[:2])
    *pairs, of_reference = in_turns([*[ours, theirs] * turns, slow], 2 * seconds, least)
    trained, theirs_trained = list(chain(*pairs[::2])), list(chain(*pairs[1::2]))
    evaluate = partial(evaluated(contestants[0], shape.steps).evaluate, x)
    for _ in range(starts):
        evaluate()
    shown = in_turns([evaluate, partial(contestants[1].evaluate, x)], seconds / 3, least)
    return Times(
        cell=cell,
        method=method,
        shape=shape,
        setting=setting,
        train=statistics.median(trained),
        theirs_train=statistics.median(theirs_trained),
        evaluate=statistics.median(shown[0]),
        theirs_evaluate=statistics.median(shown[1]),
        pairs=tuple(mine / other for mine, other in zip(trained, theirs_trained, strict=True)),
        reference=statistics.median(of_reference),
        kept=kept,
        theirs_kept=theirs_kept,
    )


def in_turns(works: Sequence[Callable[[], None]], seconds: float, least: int = LEAST) -> list[list[float]]:
    """Time all works in turns, as many rounds as fit into ``seconds``, within ``least`` and MOST.

    Returns:
        The seconds of each round, for each work. A first round is left out.
    """
    once = sum(_seconds(work) for work in works)
    rounds = min(MOST, max(least, int(seconds / once)))
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for of_work, work in zip(samples, works, strict=True):
            of_work.append(_seconds(work))
    return samples


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def give_back_freed_memory() -> None:
    """Give freed memory of other shapes back to the system.

    The pieces do not fit the next shape. If they were kept, as in runs, they would come to more than 20 GB.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def best_product(threads: int) -> float:
    """Floating-point operations per second of the fastest matrix product on this machine.

    It is measured with our own RNN without norm. Its forward pass is a product of (512, 1024) with (1024, 1024) at each
    of 8 steps.
    """
    torch.set_num_threads(threads)
    shape = Shape(8, 512, 1, 1024)
    contestant, x = fused("rnn", "none", shape), torch.randn(shape[:3])
    [samples] = in_turns([lambda: contestant.evaluate(x)], 2.0)
    return shape.products("rnn", training=False) / min(samples)
