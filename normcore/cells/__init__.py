"""Recurrent cells: each class computes one time step; the equations stand beside the code.

One file per cell. To add one, write its options in the module of its tag in ``normcore/spec/cells/``, a class of the
same name in the module of its tag here, and a test; the registry and the contract suite find both by themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Protocol, Self, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList

from normcore.norms import Call, Normalization, check_call
from normcore.norms.normalization import Identity, Shift
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
            first state is no state; or the cell asks for no norm at one of its places, or never calls it there, so that
            a method would do nothing.
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
    made: dict[Place, list[nn.Module]] = {}
    cell = kind(options, input_size, _note_norms(norm, made))
    check_state(cell, "initial_state", cell.initial_state(1))
    for place in sorted(options.places - made.keys()):
        raise CannotRun(
            f"{tag}: {kind.__module__}.{kind.__qualname__} asks for no norm at {place}, where a method would do"
            f' nothing; write self.norm_h = norm.norm(options.hidden_size, "{place}") and call it, or remove {place}'
            f" from places in {tag}'s options"
        )
    unused = _find_unused_places(cell, input_size, made)
    if unused:
        raise CannotRun(
            f"{tag}: {kind.__module__}.{kind.__qualname__} asks for a norm at {' and '.join(unused)}, and does not call"
            f" it in two steps, so the method would do nothing there; call it on the summed inputs, or remove"
            f" {' and '.join(unused)} from places in {tag}'s options"
        )
    _parametrize(cell, norm, {part for norms in made.values() for norm_at in norms for part in norm_at.modules()}, tag)
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


def _note_norms(norm: Normalization, made: dict[Place, list[nn.Module]]) -> Normalization:
    """Copy a normalization, so that the copy notes the norms that a cell asks for, by place."""

    def norm_at(hidden_size: int, site: Place, *blocks: tuple[int, ...], **named: Any) -> nn.Module:
        built = norm.norm(hidden_size, site, *blocks, **named)
        made.setdefault(site, []).append(built)
        return built

    noting = copy(norm)
    object.__setattr__(noting, "norm", norm_at)
    return noting


def _find_unused_places(cell: Any, input_size: int, made: Mapping[Place, Sequence[nn.Module]]) -> list[Place]:
    """Find the places at which two steps of the cell call no norm, though the method has one there. The norms compute
    nothing in these steps, and the cell's buffers are restored."""
    norms = [(place, norm) for place, at in made.items() for norm in at if not isinstance(norm, Identity | Shift)]
    if not norms:
        return []
    called, before = set[Place](), {name: buffer.clone() for name, buffer in cell.named_buffers()}

    def note(place: Place, a: Tensor, *_: Any, **__: Any) -> Tensor:
        called.add(place)
        return a

    try:
        for place, norm in norms:
            norm.forward = partial(note, place)
        with torch.no_grad(), torch.random.fork_rng(devices=()):
            state = cell.initial_state(1)
            for t, term in enumerate(cell.input_term(torch.zeros(2, 1, input_size), 0).unbind(0)):
                state = cell.step(term, state, t)
    finally:
        for _, norm in norms:
            vars(norm).pop("forward", None)
        cell.load_state_dict(before, strict=False)
    return sorted({place for place, _ in norms} - called)


def check_state(cell: Any, function: str, state: Any) -> None:
    """Check that a function of a cell returned a state.

    Raises:
        CannotRun: ``state`` is something else; the error says what to return.
    """
    if not (isinstance(getattr(state, "h", None), Tensor) and hasattr(state, "_replace")):
        name = f"{type(cell).__module__}.{type(cell).__qualname__}.{function}"
        raise CannotRun(f"{name} returned a {type(state).__name__}; {INTERFACE[function].line} returns {A_STATE}")
