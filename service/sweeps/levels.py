"""Levels of the fields of a sweep: their values, or ranges of values for a field with many numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from normcore.spec.names import option, text
from service.sweeps.schemas import Sweep

MAX_VALUES = 12  # different numbers of a field, up to which each is a level of its own
BINS = 6  # levels of a field with more numbers
MAX_TEXTS = 40  # different values that are no numbers, up to which a field has levels
DIGITS = (2, 3, 4, 6, 9, None)  # digits of a number, tried until levels have different names; None: all digits


@dataclass(frozen=True)
class Field:
    """A varied field of a sweep, and its levels.

    Attributes:
        path: dotted path of the field.
        name: short name of the field.
        levels: names of the levels, in the order of their values.
        of_cells: number of the level of each cell.
        is_binned: whether a level is a range of numbers.
        places: place of each cell on an axis from 0 to 1. The levels of a field that is not binned have equal
            distances.
    """

    path: str
    levels: Sequence[str]
    of_cells: Sequence[int]
    places: Sequence[float]
    is_binned: bool = False

    @cached_property
    def name(self) -> str:
        return option(self.path)


def fields_of(sweep: Sweep) -> list[Field]:
    """Fields of a sweep that take at least two values in its cells. Fields with too many values that are no numbers are
    left out."""
    paths = [*sweep.grid, *sweep.random]
    found = [make_field(path, [cell.values[path] for cell in sweep.cells]) for path in paths]
    return [field for field in found if field is not None and len(field.levels) > 1]


def make_field(path: str, values: Sequence[Any]) -> Field | None:
    """Make a field from the value of each cell; None if there are too many values that are no numbers."""
    if all(type(value) in (int, float) for value in values):
        return _of_numbers(path, values)
    keys = [json.dumps(value, sort_keys=True) for value in values]
    names = dict(zip(keys, map(name_value, values), strict=True))
    if len(names) > MAX_TEXTS:
        return None
    numbers = {key: number for number, key in enumerate(names)}
    of_cells = [numbers[key] for key in keys]
    return Field(path, list(names.values()), of_cells, _spread(of_cells, len(names)))


def name_value(value: Any) -> str:
    """Name a value of a field: a whole part by its tag and its options, ``layer_norm, eps 0.001``."""
    if not isinstance(value, Mapping):
        return text(value)
    tag, *others = value.items()
    return ", ".join([text(tag[1]), *(f"{name} {text(inner)}" for name, inner in others)])


def _of_numbers(path: str, values: Sequence[float]) -> Field:
    different = sorted(set(values))
    if len(different) <= MAX_VALUES:
        numbers = {value: number for number, value in enumerate(different)}
        of_cells = [numbers[value] for value in values]
        return Field(path, _name_numbers(different), of_cells, _spread(of_cells, len(different)))
    bounds = [len(different) * k // BINS for k in range(BINS + 1)]
    bins = [different[low:high] for low, high in pairwise(bounds)]
    numbers = {value: number for number, own in enumerate(bins) for value in own}
    ranks = {value: rank for rank, value in enumerate(different)}
    return Field(
        path,
        _name_bins(bins),
        [numbers[value] for value in values],
        [ranks[value] / (len(different) - 1) for value in values],
        is_binned=True,
    )


def _spread(of_cells: Sequence[int], n_levels: int) -> list[float]:
    return [level / max(n_levels - 1, 1) for level in of_cells]


def _name_numbers(numbers: Sequence[float]) -> list[str]:
    attempts = [[_number(number, digits) for number in numbers] for digits in DIGITS[2:]]
    return next((names for names in attempts if len(set(names)) == len(names)), attempts[-1])


def _name_bins(bins: Sequence[Sequence[float]]) -> list[str]:
    attempts = [[f"{_number(own[0], digits)} – {_number(own[-1], digits)}" for own in bins] for digits in DIGITS]
    return next((names for names in attempts if len(set(names)) == len(names)), attempts[-1])


def _number(value: float, digits: int | None) -> str:
    return text(value, digits) if isinstance(value, float) else text(value)
