"""Recurrent cells: one step of time each, equations beside code.

One file per cell. A cell's tag in ``normcore/spec/model.py`` names the file, and the class there that holds its
options names the class here. To add a cell, write both classes and a test; the contract suite finds the tag by
itself.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, Self, TypeVar, cast

from torch import Tensor

from normcore.norms import Normalization
from normcore.spec.model import RecurrentModel


class State(Protocol):
    """What a cell carries from step to step: a NamedTuple whose ``h`` (B, H) is also the cell's output."""

    @property
    def h(self) -> Tensor: ...

    def __iter__(self) -> Iterator[Tensor]: ...

    def _replace(self, *, h: Tensor) -> Self: ...


S = TypeVar("S", bound=State)


class Cell(Protocol[S]):
    """One step, in two parts: what depends on the input alone is computed for many steps at once."""

    def initial_state(self, batch_size: int) -> S:
        """The trained first state, the same for all examples."""
        ...

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        """What the inputs x (T, B, F) of the steps t, t + 1, ... add to the summed inputs: (T, B, G H).

        ``mask`` (T, B) is false where there is only padding; None if there is none.
        """
        ...

    def step(self, term: Tensor, state: S, t: int) -> S:
        """The state after step t, whose input term (B, G H) is ``term``."""
        ...


def build(model: RecurrentModel, input_size: int, norm: Normalization) -> Cell[State]:
    """One layer of the cell that ``model`` describes."""
    module = import_module(f"normcore.cells.{model.cell}")
    own = {name: getattr(model, name) for name in type(model).model_fields if name not in RecurrentModel.model_fields}
    built = getattr(module, type(model).__name__)(input_size, model.hidden_size, norm, model.recurrent_init, **own)
    return cast(Cell[State], built)
