"""What every part of a spec shares: immutable, strict, closed to unknown fields."""

from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Part(BaseModel):
    """One block of a spec. Numbers must be finite, types are not coerced, unknown fields are errors.

    Attributes:
        home: where a class that comes in kinds is implemented, ``module`` or ``module:Class``; empty for the module
            that its tag names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)

    home: ClassVar[str] = ""

    def canonical(self) -> dict[str, Any]:
        """The fields that differ from their class's default, and its tag: an option that is added later, neutral by
        default, changes nothing here."""
        fields = type(self).model_fields
        kept = {
            name
            for name, field in fields.items()
            if field.is_required() or _is_tag(field.annotation) or getattr(self, name) != field.default
        }
        parts = {name: getattr(self, name) for name in kept if isinstance(getattr(self, name), Part)}
        plain = self.model_dump(mode="json", include=kept - parts.keys())
        return plain | {name: part.canonical() for name, part in parts.items()}


class Misfit(NamedTuple):
    """A field of a part that does not go with another part, and what to do about it."""

    field: str
    message: str


def contradiction(message: str, *loc: str) -> PydanticCustomError:
    """An error about two fields that do not go together, reported at ``loc``."""
    return PydanticCustomError("contradiction", "{message}", {"loc": list(loc), "message": message})


def _is_tag(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1
