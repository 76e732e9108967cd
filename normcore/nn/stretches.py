"""Passes over packed sequences in which a sequence that has ended takes no part in statistics.

Shapes: T steps, B examples, F inputs, H hidden units.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.norms.batch_statistics import BatchStatistics, require_examples

TakeIn = Callable[[Mapping[str, Tensor], int], None]


def unroll_stretches(
    unroll: Callable[..., Any],
    cell: Any,
    norms: Mapping[str, nn.Module],
    x: Tensor,
    start: Any,
    batch_sizes: Tensor,
    take_in: TakeIn,
) -> tuple[Tensor, Any]:
    """Unroll a cell over sequences that are sorted by their lengths, one stretch of time with the same sequences after
    the other.

    A step that only one sequence reaches has no statistics of a batch. It is normalized with the population's.

    Args:
        norms: the cell's norms.
        x: (T, B, F), with any values where a sequence has ended.
        batch_sizes: (T), number of sequences that reach each step, as in a ``PackedSequence``.
        take_in: called with the moments of a stretch, and the number of its first step.

    Returns:
        y (T, B, H), 0 where a sequence has ended; and the state after the last step of each sequence.

    Raises:
        ValueError: there is only one sequence.
    """
    outputs: list[Tensor] = []
    ended: list[Any] = []
    state, begin = start, 0
    sizes, lengths = (part.tolist() for part in torch.unique_consecutive(batch_sizes, return_counts=True))
    require_examples(sizes[0])
    for batch, steps in zip(sizes, lengths, strict=True):
        ended.append([part[batch:] for part in state])
        state = type(state)(*(part[:batch] for part in state))
        with _population_only(norms, batch):
            done = unroll(cell, x[begin : begin + steps, :batch], state, begin, None)
        take_in(done.moments, begin)
        outputs.append(functional.pad(done.y, (0, 0, 0, x.shape[1] - batch)))
        state, begin = done.end, begin + steps
    parts = zip(state, *reversed(ended), strict=True)
    return torch.cat(outputs), type(state)(*map(torch.cat, parts))


@contextmanager
def _population_only(norms: Mapping[str, nn.Module], batch: int) -> Iterator[None]:
    """Let the norms over the batch use the population's statistics if the batch is a single example. As long as these
    are unknown, they have mean 0 and variance 1."""
    over_batch = [norm for norm in norms.values() if isinstance(norm, BatchStatistics)] if batch == 1 else []
    before = [(norm.training, norm.collecting, norm.standard_if_unknown) for norm in over_batch]
    for norm in over_batch:
        norm.training, norm.collecting, norm.standard_if_unknown = False, None, True
    try:
        yield
    finally:
        for norm, (training, collecting, standard) in zip(over_batch, before, strict=True):
            norm.training, norm.collecting, norm.standard_if_unknown = training, collecting, standard
