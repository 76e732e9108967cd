"""Errors of a spec, field by field."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

MOST_ERRORS = 100  # that one answer lists
MOST_LETTERS = 100  # of a name in a path
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SpecError:
    """One thing wrong with a spec: the field's path, what to do about it, and a stable code."""

    loc: tuple[str | int, ...]
    msg: str
    type: str

    def __post_init__(self) -> None:
        if any(isinstance(step, str) and len(step) > MOST_LETTERS for step in self.loc):
            object.__setattr__(self, "loc", tuple(_shortened(step) for step in self.loc))


def _shortened(step: str | int) -> str | int:
    return f"{step[:MOST_LETTERS]}…" if isinstance(step, str) and len(step) > MOST_LETTERS else step


def first_errors(found: Sequence[T], as_error: Callable[[T], SpecError]) -> list[SpecError]:
    """The first errors, and how many more there are. Only those that are listed are put into words."""
    errors = [as_error(one) for one in found[:MOST_ERRORS]]
    if len(found) > MOST_ERRORS:
        errors.append(SpecError((), f"that is enough; {len(found) - MOST_ERRORS:,} more errors are not listed", "more"))
    return errors


class InvalidSpec(ValueError):
    """The spec is not one; ``errors`` says field by field why."""

    def __init__(self, errors: list[SpecError]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{'.'.join(map(str, e.loc)) or 'spec'}: {e.msg}" for e in errors))
