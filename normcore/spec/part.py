"""Base class of all parts of a spec: immutable, strict, closed to unknown fields."""

from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

NONE = object()


class Part(BaseModel):
    """One block of a spec. Numbers must be finite, types are not coerced, unknown fields are errors.

    Attributes:
        home: where a class that comes in kinds is implemented, ``module`` or ``module:Class``; empty for the module
            that its tag names. One that is inherited gives way to a module of the tag.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)

    home: ClassVar[str] = ""

    def canonical(self) -> dict[str, Any]:
        """The fields that differ from their class's default, and its tag: an option that is added later, neutral by
        default, changes nothing here."""
        return self._pruned(self.model_dump(mode="json"))

    def _pruned(self, dumped: dict[str, Any]) -> dict[str, Any]:
        """Its dump without what is at its default, in its parts too."""
        kept = {}
        for name, default in _defaults(type(self)):
            value = getattr(self, name)
            if value != default:
                kept[name] = value._pruned(dumped[name]) if isinstance(value, Part) else dumped[name]
        return kept


@cache
def _defaults(part: type[Part]) -> tuple[tuple[str, Any], ...]:
    """Each field's default; of a tag, and of a field that has none, something that no value equals."""
    return tuple(
        (name, NONE if field.is_required() or _is_tag(field.annotation) else field.default)
        for name, field in part.model_fields.items()
    )


class Misfit(NamedTuple):
    """A field of a part that does not go with another part, and what to do about it."""

    field: str
    message: str


def contradiction(message: str, *loc: str) -> PydanticCustomError:
    """An error about two fields that do not go together, reported at ``loc``."""
    return PydanticCustomError("contradiction", "{message}", {"loc": list(loc), "message": message})


def _is_tag(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1
