"""Errors of a spec, field by field."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

MAX_ERRORS = 100  # errors that one answer lists
MAX_LETTERS = 100  # letters of a name in a path
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SpecError:
    """Error of one field of a spec: the field's path, a message that says what to write instead, and a stable code."""

    loc: tuple[str | int, ...]
    msg: str
    type: str

    def __post_init__(self) -> None:
        if any(isinstance(step, str) and len(step) > MAX_LETTERS for step in self.loc):
            object.__setattr__(self, "loc", tuple(_shorten_step(step) for step in self.loc))


def _shorten_step(step: str | int) -> str | int:
    return f"{step[:MAX_LETTERS]}…" if isinstance(step, str) and len(step) > MAX_LETTERS else step


def first_errors(found: Sequence[T], as_error: Callable[[T], SpecError]) -> list[SpecError]:
    """Convert the first errors with ``as_error``; a last error says how many more there are. Errors that are not listed
    are not converted."""
    errors = [as_error(one) for one in found[:MAX_ERRORS]]
    if len(found) > MAX_ERRORS:
        more = f"too many errors; {len(found) - MAX_ERRORS:,} more errors are not listed"
        errors.append(SpecError((), more, "more"))
    return errors


class InvalidSpec(ValueError):
    """Error: a spec is not valid. ``errors`` says why, field by field."""

    def __init__(self, errors: list[SpecError]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{'.'.join(map(str, e.loc)) or 'spec'}: {e.msg}" for e in errors))
