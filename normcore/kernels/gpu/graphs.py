"""CUDA graphs of step-by-step kernels: hundreds of launches by Python become one launch.

A graph always reads and writes the memory with which it was recorded. So each graph has its own tensors: a call's
inputs are copied into these tensors, and the results are copied out.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

Operands = Sequence[Tensor | None]
"""Tensors of a pass; None for a tensor that the pass does not have."""
Work = Callable[[Operands, Operands], None]
"""A function that launches kernels. It reads the first tensors, fills the second, and uses no other tensors."""

RECORDED_AT = 3  # record the third call of a kind: for calls that come once, as for a rare length, it does not pay
KINDS = 16  # kinds of calls that are remembered, the last ones called


def record(work: Callable[[], None]) -> Callable[[], None]:
    """Record ``work`` as a CUDA graph, and return a function that replays the graph. Before the recording, the work is
    done once on a separate stream, as torch demands.
    """
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        work()
    return graph.replay


@dataclass(slots=True)
class _Kind:
    calls: int = 0
    reads: Operands = ()
    fills: Operands = ()
    replay: Callable[[], None] | None = None


@dataclass(slots=True)
class Graphs:
    """All CUDA graphs of a process. The process must compute in one thread at a time."""

    record: Callable[[Callable[[], None]], Callable[[], None]] = record
    kinds: OrderedDict[Hashable, _Kind] = field(default_factory=OrderedDict)

    def run(self, name: Hashable, work: Work, reads: Operands, fills: Operands) -> None:
        """Do the work; from the third call with the same name and shapes on, do it by a graph.

        Args:
            name: name of the work; work of the same name launches the same kernels for tensors of the same shapes.
            work: function that launches kernels; it must not hold tensors of this call.
            reads: tensors that ``work`` reads.
            fills: tensors that ``work`` fills.
        """
        kind = self._kind((name, _shapes(reads), _shapes(fills)))
        kind.calls += 1
        if kind.calls < RECORDED_AT:
            work(reads, fills)
            return
        if kind.replay is None:
            kind.reads, kind.fills = _like(reads), _like(fills)
            _copy(reads, kind.reads)
            kind.replay = self.record(partial(work, kind.reads, kind.fills))
        _copy(reads, kind.reads)
        kind.replay()
        _copy(kind.fills, fills)

    def _kind(self, key: Hashable) -> _Kind:
        kind = self.kinds.setdefault(key, _Kind())
        self.kinds.move_to_end(key)
        if len(self.kinds) > KINDS:
            self.kinds.popitem(last=False)
        return kind


def _shapes(tensors: Operands) -> Hashable:
    return tuple(None if tensor is None else (tensor.shape, tensor.dtype, tensor.device) for tensor in tensors)


def _like(tensors: Operands) -> Operands:
    return [None if t is None else torch.empty_like(t, memory_format=torch.contiguous_format) for t in tensors]


def _copy(given: Operands, to: Operands) -> None:
    for source, target in zip(given, to, strict=True):
        if source is not None and target is not None:
            target.copy_(source)
