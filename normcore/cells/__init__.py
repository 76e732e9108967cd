"""Recurrent cells: each class computes one time step; the equations stand beside the code.

One file per cell. To add one, write its options in the module of its tag in ``normcore/spec/cells/``, a class of the
same name in the module of its tag here, and a test; the registry and the contract suite find both by themselves.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any, Protocol, Self, TypeVar, cast

from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList

from normcore.norms import Call, Normalization, check_call
from normcore.spec.cells import CELLS
from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.plug_ins.errors import CannotRun

INIT = Call(("options", "input_size", "norm"), "def __init__(self, options, input_size, norm)")
INTERFACE = {
    "initial_state": Call(("batch_size",), "def initial_state(self, batch_size)"),
    "input_term": Call(("x", "t", "mask"), "def input_term(self, x, t, mask=None)"),
    "step": Call(("term", "state", "t"), "def step(self, term, state, t)"),
}
"""Methods that every cell must have; see ``Cell``."""
A_STATE = "a NamedTuple whose h is a tensor (B, H), as HiddenState(h) of normcore.cells.cell"


class State(Protocol):
    """State that a cell carries from step to step: a NamedTuple whose ``h`` (B, H) is also the cell's output."""

    @property
    def h(self) -> Tensor: ...

    def __iter__(self) -> Iterator[Tensor]: ...

    def _replace(self, *, h: Tensor) -> Self: ...


S = TypeVar("S", bound=State)


class Cell(Protocol[S]):
    """Interface of a cell, which computes one time step in two parts. The part that depends on the input alone is
    computed for many steps at once.

    A cell is built from ``(options, input_size, norm)``: the cell's options, the number of input features, and the
    normalization, which builds the norms at the cell's places.
    """

    def initial_state(self, batch_size: int) -> S:
        """Return the trained first state, which is the same for all examples."""
        ...

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        """Compute the input's term (T, B, G H) of the summed inputs, from the inputs x (T, B, F) of the steps
        t, t + 1, ...

        ``mask`` (T, B) is false in the padding; None means that there is no padding.
        """
        ...

    def step(self, term: Tensor, state: S, t: int) -> S:
        """Compute the state after step t, from the state before it and ``term`` (B, G H), the input's term of step
        t."""
        ...


def build(options: RecurrentModel, input_size: int, norm: Normalization) -> Cell[State]:
    """Build one layer of the cell that the options describe. The method may change the parametrization of the cell's
    matrices, and of the matrices of its parts, such as ``nn.Linear``.

    Raises:
        CannotRun: the cell's class lacks a method that every cell must have, or has it with other arguments; or its
            first state is no state; or the cell asks for no norm at one of its places, where every method would do
            nothing.
    """
    kind = CELLS.implementation(options)
    tag = CELLS.tag_of(options)
    missing = [name for name in INTERFACE if not callable(getattr(kind, name, None))]
    if missing:
        raise CannotRun(
            f"{tag}: {kind.__module__}.{kind.__qualname__} has no {' and no '.join(missing)}; a cell"
            f" has {', '.join(call.line for call in INTERFACE.values())}"
        )
    check_call(tag, kind, "__init__", INIT)
    for name, call in INTERFACE.items():
        check_call(tag, kind, name, call)
    places, parts = set[Place](), set[nn.Module]()
    cell = kind(options, input_size, _note_norms(norm, places, parts))
    check_state(cell, "initial_state", cell.initial_state(1))
    for place in sorted(options.places - places):
        raise CannotRun(
            f"{tag}: {kind.__module__}.{kind.__qualname__} asks for no norm at {place}, where a method would do"
            f' nothing; write self.norm_h = norm.norm(options.hidden_size, "{place}") and call it, or remove {place}'
            f" from places in {tag}'s options"
        )
    _parametrize(cell, norm, parts, tag)
    return cast(Cell[State], cell)


def _parametrize(cell: nn.Module, norm: Normalization, norms: set[nn.Module], tag: str) -> None:
    """Let the method parametrize the matrices of a cell and of its parts, except of the ``norms``. Matrices that the
    cell has parametrized itself stay as they are.

    Raises:
        CannotRun: the method would give two parts that share a matrix a matrix each.
    """
    done = {m for part in cell.modules() if isinstance(part, ParametrizationList) for m in part.modules()}
    paths: dict[nn.Parameter, str] = {}
    for of_part, part in [
        (path, part) for path, part in cell.named_modules() if part not in norms and part not in done
    ]:
        for name, matrix in list(part.named_parameters(of_part, recurse=False)):
            if matrix.dim() != 2:
                continue
            attribute, first = name.rpartition(".")[2], paths.setdefault(matrix, name)
            norm.parametrize(part, attribute)
            if first != name and part._parameters.get(attribute) is not matrix:
                raise CannotRun(
                    f"{tag}: {first} and {name} are one matrix, and this method would make two of it; keep one part,"
                    " and call it twice"
                )


def _note_norms(norm: Normalization, places: set[Place], parts: set[nn.Module]) -> Normalization:
    """Copy a normalization, so that the copy notes the norms that a cell asks for: their places, and their modules."""

    def norm_at(hidden_size: int, site: Place, *blocks: tuple[int, ...], **named: Any) -> nn.Module:
        built = norm.norm(hidden_size, site, *blocks, **named)
        places.add(site)
        parts.update(built.modules())
        return built

    noting = copy(norm)
    object.__setattr__(noting, "norm", norm_at)
    return noting


def check_state(cell: Any, function: str, state: Any) -> None:
    """Check that a function of a cell returned a state.

    Raises:
        CannotRun: ``state`` is something else; the error says what to return.
    """
    if not (isinstance(getattr(state, "h", None), Tensor) and hasattr(state, "_replace")):
        name = f"{type(cell).__module__}.{type(cell).__qualname__}.{function}"
        raise CannotRun(f"{name} returned a {type(state).__name__}; {INTERFACE[function].line} returns {A_STATE}")
