"""Recurrent cells: one step of time each, equations beside code.

One file per cell. To add one, write its options in the module of its tag in ``normcore/spec/cells/``, a class of the
same name in the module of its tag here, and a test; the registry and the contract suite find both by themselves.
"""

from collections.abc import Iterator
from typing import Protocol, Self, TypeVar, cast

from torch import Tensor

from normcore.norms import Normalization
from normcore.spec.cells import CELLS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.plug_ins.errors import CannotRun

INTERFACE = {
    "initial_state": "initial_state(batch_size)",
    "input_term": "input_term(x, t, mask=None)",
    "step": "step(term, state, t)",
}
"""What every cell has; see ``Cell``."""


class State(Protocol):
    """State that a cell carries from step to step: a NamedTuple whose ``h`` (B, H) is also the cell's output."""

    @property
    def h(self) -> Tensor: ...

    def __iter__(self) -> Iterator[Tensor]: ...

    def _replace(self, *, h: Tensor) -> Self: ...


S = TypeVar("S", bound=State)


class Cell(Protocol[S]):
    """One step, in two parts: what depends on the input alone is computed for many steps at once.

    A cell is built from ``(options, input_size, norm)``: its options, the features of an input, and the normalization
    that it asks for the modules of its places.
    """

    def initial_state(self, batch_size: int) -> S:
        """The trained first state, the same for all examples."""
        ...

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        """Input term of the summed inputs, from the inputs x (T, B, F) of the steps t, t + 1, ...: (T, B, G H).

        ``mask`` (T, B) is false where there is only padding; None if there is none.
        """
        ...

    def step(self, term: Tensor, state: S, t: int) -> S:
        """The state after step t, whose input term (B, G H) is ``term``."""
        ...


def build(options: RecurrentModel, input_size: int, norm: Normalization) -> Cell[State]:
    """One layer of the cell that the options describe. The method may give its matrices another parametrization.

    Raises:
        CannotRun: its class lacks something that every cell has.
    """
    kind = CELLS.implementation(options)
    missing = [name for name in INTERFACE if not callable(getattr(kind, name, None))]
    if missing:
        raise CannotRun(
            f"{CELLS.tag_of(options)}: {kind.__module__}.{kind.__qualname__} has no {' and no '.join(missing)}; a cell"
            f" has {', '.join(INTERFACE.values())}"
        )
    cell = kind(options, input_size, norm)
    norm.parametrize(cell, *(name for name, p in cell.named_parameters(recurse=False) if p.dim() == 2))
    return cast(Cell[State], cell)
