"""RNNs beside cuDNN and our own reference, then all three cells with ``sequence_batch_norm``: training steps, and
evaluation.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch

from benchmarks.gpu_day.device import PRECISIONS, Device
from benchmarks.gpu_day.results import Case
from benchmarks.gpu_day.speed import best_product, comparisons, compilation
from benchmarks.kernels.contestants import GATES
from benchmarks.kernels.measuring import METHODS


def cases(device: Device) -> Iterator[Case]:
    torch.backends.cudnn.allow_tf32 = False
    of_rnn, over_sequence = list(product(["rnn"], METHODS)), list(product(GATES, ["sequence_batch_norm"]))
    yield compilation(device, [*of_rnn, *over_sequence])
    for precision in PRECISIONS:
        yield Case(f"best product, {precision}", partial(best_product, device, precision))
    for pairs, precision in product((of_rnn, over_sequence), PRECISIONS):
        yield from comparisons(device, pairs, precision)
