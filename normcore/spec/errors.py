"""What is wrong with a spec, field by field."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpecError:
    """One thing wrong with a spec: the field's path, what to do about it, and a stable code."""

    loc: tuple[str | int, ...]
    msg: str
    type: str


class InvalidSpec(ValueError):
    """The spec is not one; ``errors`` says field by field why."""

    def __init__(self, errors: list[SpecError]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{'.'.join(map(str, e.loc)) or 'spec'}: {e.msg}" for e in errors))
