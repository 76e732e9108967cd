"""CUDA graphs of the kernels of one step: hundreds of launches by Python become one.

A graph reads and writes where it did when it was recorded. So it has tensors of its own, into which a call's are copied
and from which its results are.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

Operands = Sequence[Tensor | None]
"""None where a pass has no such tensor."""
Work = Callable[[Operands, Operands], None]
"""What launches kernels: it reads the first tensors, fills the second, and touches no others."""

RECORDED_AT = 3  # the call of a kind: what comes once, as batches of a length of their own do, is not worth it
KINDS = 16  # that are remembered, those last called


def record(work: Callable[[], None]) -> Callable[[], None]:
    """Record work as a CUDA graph; the result repeats it. The work is done once before, on a stream of its own, as
    torch demands.
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
    """CUDA graphs of a process, which computes in one thread at a time."""

    record: Callable[[Callable[[], None]], Callable[[], None]] = record
    kinds: OrderedDict[Hashable, _Kind] = field(default_factory=OrderedDict)

    def run(self, name: Hashable, work: Work, reads: Operands, fills: Operands) -> None:
        """Do the work, from its third call of a kind on by a graph.

        Args:
            name: of work that launches the same kernels for tensors of the same shapes.
            work: it must not hold tensors of this call.
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
