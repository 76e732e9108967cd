"""Recurrent network: a cell applied over time, in layers and directions.

Shapes: T steps, B examples, F inputs, H hidden units, D directions (1 or 2).
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from normcore import cells, norms
from normcore.cells import State
from normcore.norms.population import batch_norms
from normcore.recurrent.unroll import UnrolledCell, take_in_moments, unroll
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel


class RecurrentState(NamedTuple):
    """State of a recurrent network after some steps, from which a later call can go on.

    Attributes:
        cells: the state of every layer, the first layer first; if there are two directions, two states for each layer.
        t: the number of steps done; per-step statistics depend on this number.
    """

    cells: tuple[State, ...]
    t: int


class Recurrent(nn.Module):
    """A recurrent network of one kind of cell and one normalization.

    Args:
        options: the cell, its sizes and its initial values. In a bidirectional network every layer also reads
            backwards, and the next layer gets both outputs side by side.
        norm: the normalization's options.
        kernel, unroll: the results of ``normcore.kernels.choose``: name and function of the loop over time.

    Raises:
        ValueError: ``input_size`` is below 1, or the normalization has no place in the cell.
    """

    def __init__(
        self,
        options: RecurrentModel,
        input_size: int,
        norm: Method,
        kernel: str = "reference",
        unroll: Callable[..., UnrolledCell] = unroll,
    ) -> None:
        super().__init__()
        if input_size < 1:
            raise ValueError(f"expected input_size of 1 or more, received {input_size}")
        misfit = norm.misfit(options)
        if misfit is not None:
            raise ValueError(f"norm.{misfit.field}: {misfit.message}")
        normalization = norms.build(norm)
        self.options = options
        self.kernel = kernel
        self.unroll = unroll
        self.input_size = input_size
        self.hidden_size = options.hidden_size
        self.directions = 2 if options.bidirectional else 1
        self.initial_state_noise = normalization.initial_state_noise
        self.whole_sequences = norm.whole_sequences
        self.counts_padding = norm.needs_batch(options)
        self.cells = nn.ModuleList()
        for layer in range(options.num_layers):
            size = self.hidden_size * self.directions if layer else input_size
            for _ in range(self.directions):
                built: Any = cells.build(options, size, normalization)
                self.cells.append(built)

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        state: RecurrentState | None = None,
        longest: int | None = None,
    ) -> tuple[Tensor, RecurrentState]:
        """Run over a sequence, from its start or from where ``state`` left off.

        Args:
            x: (T, B, F).
            lengths: (B,), the number of steps of each example; None if all examples have T steps. The steps after an
                example's last step are padding. The example's state is copied over the padding, and the backward
                direction starts at the example's last step. The values of x in the padding do not matter, except for
                methods whose statistics count padding (``counts_padding``). Steps that are padding in all examples
                are not computed at all.
            state: state that an earlier call returned. None begins with the trained initial state plus the
                normalization's noise on h, drawn anew from torch's global generator at every call.
            longest: the largest of ``lengths``; with this argument ``lengths`` are not checked. None takes the largest
                from ``lengths``, which waits for their device.

        Returns:
            y (T, B, D H), the last layer's h at every step, and the state after the last step. For the backward
            direction, this is the state after reading back to the first step.

        Raises:
            ValueError: shapes do not fit; or ``state`` is given to a bidirectional network, or to a network that takes
                the minibatch's statistics over whole sequences.
        """
        self._check(x, None if longest is not None else lengths, state)
        if lengths is None:
            y, ends = self._run(x, None, state)
        else:
            mask = _mask(int(lengths.max()) if longest is None else longest, lengths.to(x.device))
            y, ends = self._run(x[: len(mask)], mask, state)
            last = torch.cat([end.h for end in ends[-self.directions :]], -1)
            y = torch.cat([y, last.expand(len(x) - len(y), -1, -1)])
        return y, RecurrentState(ends, (state.t if state else 0) + len(x))

    def _run(self, x: Tensor, mask: Tensor | None, state: RecurrentState | None) -> tuple[Tensor, tuple[State, ...]]:
        """Compute the outputs (T, B, D H) of the steps x (T, B, F), and the end states of all layers and directions."""
        if mask is not None and not self.counts_padding:
            x = x.masked_fill(~mask.unsqueeze(2), 0)
        ends: list[State] = []
        for layer in range(0, len(self.cells), self.directions):
            outputs = []
            for direction in range(self.directions):
                cell: Any = self.cells[layer + direction]
                start = state.cells[layer] if state else self.initial_state(cell, x.shape[1])
                t = state.t if state else 0
                y, end, moments = self.unroll(cell, reverse_time(x, mask) if direction else x, start, t, mask)
                take_in_moments(cell, moments, t)
                outputs.append(reverse_time(y, mask) if direction else y)
                ends.append(end)
            x = outputs[0] if self.directions == 1 else torch.cat(outputs, -1)
        return x, tuple(ends)

    def initial_state(self, cell: Any, batch_size: int) -> State:
        """Return the trained first state of ``cell``, with the normalization's noise on h."""
        state: State = cell.initial_state(batch_size)
        if self.initial_state_noise:
            state = state._replace(h=state.h + self.initial_state_noise * torch.randn_like(state.h))
        return state

    def _check(self, x: Tensor, lengths: Tensor | None, state: RecurrentState | None) -> None:
        if x.dim() != 3 or 0 in x.shape or x.shape[2] != self.input_size:
            raise ValueError(
                f"expected x of shape (T, B, {self.input_size}) with T and B at least 1, received {tuple(x.shape)};"
                " time comes first"
            )
        if lengths is not None:
            _check_lengths(lengths, len(x), x.shape[1])
        if state is None:
            return
        if self.directions == 2:
            raise ValueError("expected no state for a bidirectional network, received one; pass the whole sequence")
        if self.whole_sequences and state.t and any(norm.takes_batch for norm in batch_norms(self).values()):
            raise ValueError(
                "expected no state, as this method's statistics are over whole sequences, received one;"
                " pass whole sequences from the start, or use evaluation mode"
            )
        expected = [_layout(cell.initial_state(x.shape[1])) for cell in cast(Iterable[Any], self.cells)]
        received = [_layout(cell) for cell in state.cells]
        if received != expected:
            raise ValueError(
                f"expected a state of {', '.join(expected)}, received {', '.join(received) or 'none'};"
                " use the state of the same network and batch"
            )


def _layout(state: State) -> str:
    """Describe the type and the shapes of one layer's state, for comparisons and for error messages."""
    return f"{type(state).__name__} {tuple(tuple(part.shape) for part in state)}"


def _check_lengths(lengths: Tensor, steps: int, batch_size: int) -> None:
    if not isinstance(lengths, Tensor):
        raise ValueError(f"expected lengths as a tensor, received {type(lengths).__name__}; use torch.tensor(lengths)")
    if lengths.shape != (batch_size,) or lengths.is_floating_point():
        raise ValueError(
            f"expected lengths of shape ({batch_size},), whole numbers, received {tuple(lengths.shape)} of"
            f" {lengths.dtype}; give one for each example"
        )
    if lengths.min() < 0 or lengths.max() > steps:
        raise ValueError(
            f"expected lengths from 0 to {steps}, received {lengths.min()} to {lengths.max()}; pad x to the longest"
        )


def _mask(steps: int, lengths: Tensor) -> Tensor:
    """Return a mask (T, B), true at the steps that an example has."""
    return torch.arange(steps, device=lengths.device).unsqueeze(1) < lengths


def reverse_time(x: Tensor, mask: Tensor | None) -> Tensor:
    """Reverse x (T, B, F) in time; padding stays at its place."""
    if mask is None:
        return x.flip(0)
    steps = torch.arange(len(x), device=x.device).unsqueeze(1)
    source = torch.where(mask, mask.sum(0) - 1 - steps, steps)  # (T, B)
    return x.gather(0, source.unsqueeze(2).expand_as(x))
