"""The loop over time: a cell computes one step, ``unroll`` a whole sequence.

Shapes: T steps, B examples, F inputs, H hidden units.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normcore.cells import Cell, State, check_state
from normcore.norms.population import batch_norms

S = TypeVar("S", bound=State)


class UnrolledCell(NamedTuple):
    """Result of unrolling a cell over a sequence.

    Attributes:
        y: (T, B, H), h after every step.
        end: the state after the last step.
        moments: the minibatch's means and variances (2, T, F) in each batch norm, by the norm's name in the cell. Batch
            norms that do not need them are left out. The caller passes the moments to ``take_in_moments``.
    """

    y: Tensor
    end: State
    moments: Mapping[str, Tensor]


def unroll(cell: Cell[S], x: Tensor, state: S, t: int = 0, mask: Tensor | None = None) -> UnrolledCell:
    """Apply ``cell`` step by step over a sequence. This is the reference; the kernels in ``normcore.kernels`` compute
    the same.

    Args:
        x: (T, B, F), inputs.
        state: the state before the first step.
        t: the number of the first step; per-step statistics depend on this number.
        mask: (T, B), false at the steps that an example does not have; its state does not change there. None if all
            examples have all steps.
    """
    y: list[Tensor] = []
    if len(x) == 0:
        return UnrolledCell(state.h.expand(0, -1, -1), state, {})
    _moments(cast(nn.Module, cell))  # drop the moments that an interrupted pass left there
    with parametrize.cached():
        for state in states(cell, x, state, t, mask):  # noqa: B020
            y.append(state.h)
    return UnrolledCell(torch.stack(y), state, _moments(cast(nn.Module, cell)))


def states(cell: Cell[S], x: Tensor, state: S, t: int = 0, mask: Tensor | None = None) -> Iterator[S]:
    """Yield the state after each step of ``unroll``: the same tensors that the next step starts from."""
    for step, term in enumerate(cell.input_term(x, t, mask).unbind(0)):
        new = cell.step(term, state, t + step)
        if step == 0:
            check_state(cell, "step", new)
        state = new if mask is None else _where(mask[step].unsqueeze(1), new, state)
        yield state


@contextmanager
def step_by_step(cell: Cell[S]) -> Iterator[Callable[[Tensor, S, int], S]]:
    """Step a cell by hand, for networks whose next input depends on the state. Inside the context,
    ``step(x, state, t)`` returns the state after step t with the input x (B, F). At the end of the context, the cell's
    batch norms take in the moments of all steps; after an exception they do not.
    """
    module = cast(nn.Module, cell)
    _moments(module)
    with parametrize.cached():
        yield lambda x, state, t: cell.step(cell.input_term(x.unsqueeze(0), t).squeeze(0), state, t)
    take_in_moments(module, _moments(module))


def take_in_moments(cell: nn.Module, moments: Mapping[str, Tensor], t: int = 0) -> None:
    """Give the ``moments`` of an unroll that began at step ``t`` to the cell's batch norms, for their statistics."""
    norms = batch_norms(cell)
    for name, seen in moments.items():
        norms[name].take_in(seen, t)


def _moments(cell: nn.Module) -> dict[str, Tensor]:
    seen = {name: norm.moments() for name, norm in batch_norms(cell).items()}
    return {name: moments for name, moments in seen.items() if moments is not None}


def _where(mask: Tensor, new: S, old: S) -> S:
    return type(new)(*(torch.where(mask, n, o) for n, o in zip(new, old, strict=True)))
