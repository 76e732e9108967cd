"""Base class of all parts of a spec: immutable, strict, closed to unknown fields."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

NONE = object()


class Part(BaseModel):
    """One block of a spec. Numbers must be finite, types are not coerced, unknown fields are errors.

    Attributes:
        home: where the class is implemented, as ``module`` or ``module:Class``; empty for the module that the tag of
            the class names. If that module exists, it replaces an inherited ``home``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)

    home: ClassVar[str] = ""

    def canonical(self) -> dict[str, Any]:
        """Return the tag, and the fields that differ from the defaults of the class. So a new option with a neutral
        default does not change the fingerprints of older specs."""
        return self._prune_defaults(self.model_dump(mode="json"))

    def _prune_defaults(self, dumped: dict[str, Any]) -> dict[str, Any]:
        """Remove default values from ``dumped``, the dump of this part, and from the parts inside it."""
        kept = {}
        for name, default in _defaults(type(self)):
            value = getattr(self, name)
            if value != default:
                kept[name] = value._prune_defaults(dumped[name]) if isinstance(value, Part) else dumped[name]
        return kept


@cache
def _defaults(part: type[Part]) -> tuple[tuple[str, Any], ...]:
    """List name and default of each field. A tag, and a field without a default, get an object that equals no value."""
    return tuple(
        (name, NONE if field.is_required() or _is_tag(field.annotation) else field.default)
        for name, field in part.model_fields.items()
    )


class Misfit(NamedTuple):
    """Field of a part that does not fit another part of the spec, and a message that says what to write instead."""

    field: str
    message: str


def contradiction(message: str, *loc: str) -> PydanticCustomError:
    """Make an error about two fields that contradict each other; ``loc`` is the path of the field that is reported."""
    return PydanticCustomError("contradiction", "{message}", {"loc": list(loc), "message": message})


def each_once(noun: str, order: Callable[[Any], Any] | None = None) -> AfterValidator:
    """Make a validator for a list whose order means nothing. It refuses an item that is given twice. It sorts the
    items, so that their order does not change a fingerprint.

    Args:
        noun: word for an item, for the message.
        order: sort key of an item; None for the item itself.
    """

    def in_one_form(items: tuple[Any, ...]) -> tuple[Any, ...]:
        refuse_duplicates(items, noun)
        return tuple(sorted(items, key=order))

    return AfterValidator(in_one_form)


def refuse_duplicates(items: Sequence[Any], noun: str) -> None:
    """Raise PydanticCustomError if an item stands twice in a list. ``noun`` is the word for an item."""
    twice = [item for item, count in Counter(items).items() if count > 1]
    if twice:
        shown = str(twice[0]) if isinstance(twice[0], int | float | str) else f"an equal {noun}"
        raise PydanticCustomError(
            "duplicate",
            "{shown} stands more than once; give every {noun} once",
            {"noun": noun, "shown": shown},
        )


def _is_tag(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1
