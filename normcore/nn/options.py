"""Read the arguments of a layer: its cell's options, and its norm.

Errors are in the words of ``torch.nn``, where it has them. The options are those of specs. Their defaults here make a
layer without a norm what ``torch.nn`` has.
"""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel

TORCH = {"recurrent_init": "uniform", "first_state": "zeros"}
OF_LSTM = {"forget_bias": 0.0, "first_cell": "zeros", "cell_bias": False}
RUNNING = {"population": "running"}
ABSENT = {"nonlinearity": "tanh", "proj_size": 0}
"""Arguments of torch's layers for which ours have one value."""


class Statistics(NamedTuple):
    """Choice of the running statistics that a layer with norms over the batch keeps.

    Attributes:
        tracked: whether there are any; otherwise evaluation, too, uses the minibatch's statistics.
        max_steps: number of steps with statistics of their own; later steps have those of the last. None for as many
            as the longest sequence of training has.
    """

    tracked: bool = True
    max_steps: int | None = None


def check_sizes(input_size: int, hidden_size: int, num_layers: int) -> None:
    """Check the sizes of a layer.

    Raises:
        TypeError: a size is not a whole number.
        ValueError: a size is not positive.
    """
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size < 1:
            raise ValueError(f"{name} must be greater than zero")


def check_dropout(dropout: float, num_layers: int) -> None:
    """Check the probability of dropout. Warn if there is no place for it.

    Raises:
        ValueError: it is not a number from 0 to 1.
    """
    if isinstance(dropout, bool) or not isinstance(dropout, Real) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers"
            f" greater than 1, but got dropout={dropout} and num_layers=1",
            stacklevel=3,
        )


def check_dimensions(found: Sequence[int], single: bool) -> None:
    """Check the number of dimensions of each first state.

    Raises:
        RuntimeError: it does not fit the input.
    """
    expected, of = (2, "unbatched 2-D") if single else (3, "batched 3-D")
    if set(found) == {expected}:
        return
    if len(found) == 1:
        raise RuntimeError(f"For {of} input, hx should also be {expected}-D but got {found[0]}-D tensor")
    got = ", ".join(f"{dimensions}-D" for dimensions in found)
    raise RuntimeError(f"For {of} input, hx and cx should also be {expected}-D but got ({got}) tensors")


def read_cell(tag: str, sizes: Mapping[str, Any], options: Mapping[str, Any]) -> RecurrentModel:
    """Read the options of a cell.

    Raises:
        ValueError: an option is unknown, or has a wrong value; the message names the option.
    """
    defaults = {**TORCH, **(OF_LSTM if tag == "lstm" else {})}
    own = {name: value for name, value in options.items() if ABSENT.get(name) != value}
    for name in own:
        if name in ABSENT:
            raise ValueError(f"{name}: layers with a norm have only {ABSENT[name]!r}, received {own[name]!r}")
        if name not in CELLS[tag].model_fields:
            known = sorted(set(CELLS[tag].model_fields) - {"cell", *sizes})
            raise ValueError(f"{name}: {tag.upper()} has no such option; it has {', '.join(known)}")
    cell: RecurrentModel = _validated(CELLS[tag], {"cell": tag, **defaults, **own, **sizes}, "")
    return cell


def read_norm(norm: str | Mapping[str, Any] | Method, cell: RecurrentModel) -> tuple[Method, Statistics]:
    """Read the argument ``norm`` of a layer.

    Raises:
        ValueError: there is no such method, it has no place in the cell, or an option does not fit; the message names
            what does not fit.
    """
    if isinstance(norm, Method):
        if "population" in type(norm).model_fields and "population" not in norm.model_fields_set:
            norm = type(norm).model_validate({**norm.model_dump(exclude_unset=True), **RUNNING})
        return _fitting(norm, cell), Statistics()
    if not isinstance(norm, str | Mapping):
        raise ValueError(
            f"norm: expected the name of a method, a mapping of its options or a Method, received {norm!r}"
        )
    given: dict[str, Any] = {"method": norm} if isinstance(norm, str) else dict(norm)
    statistics = _take_statistics(given)
    tag = given.get("method")
    if not isinstance(tag, str) or tag not in METHODS:
        try:
            METHODS.validate(given)
        except PydanticCustomError as error:
            raise ValueError(f"norm: {error}") from None
    kind: Any = METHODS[str(tag)]
    running = RUNNING if "population" in kind.model_fields else {}
    if given.get("statistics") == "shared" and statistics.max_steps is not None:
        raise ValueError(
            'norm.max_steps: with statistics "shared", steps that no sequence has reached would count in the average;'
            " remove max_steps"
        )
    return _fitting(_validated(kind, {**kind.defaults(type(cell)), **running, **given}, "norm."), cell), statistics


def _take_statistics(given: dict[str, Any]) -> Statistics:
    """Take the options of a layer's statistics out of ``given``."""
    tracked, max_steps = given.pop("track_running_stats", True), given.pop("max_steps", None)
    if not isinstance(tracked, bool):
        raise ValueError(f"norm.track_running_stats: expected True or False, received {tracked!r}")
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
        raise ValueError(f"norm.max_steps: expected a whole number from 1 on, or None, received {max_steps!r}")
    return Statistics(tracked, max_steps)


def _fitting(method: Method, cell: RecurrentModel) -> Method:
    misfit = method.misfit(cell)
    if misfit is not None:
        raise ValueError(f"norm.{misfit.field}: {misfit.message}")
    return method


def _validated(kind: Any, given: Mapping[str, Any], where: str) -> Any:
    try:
        return kind.model_validate(given, strict=False)
    except ValidationError as error:
        found = "; ".join(f"{where}{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError(found) from None
