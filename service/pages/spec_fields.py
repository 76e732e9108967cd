"""One field of a form for a spec: its control, the texts in the control, and the value that these texts stand for.

A text that cannot be read as its field asks stays text: the spec's own check then refuses it, with an error at that
field.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from normcore.spec.files import load_yaml
from service.pages.paths import NOTHING

Kind = Literal["choice", "select", "switch", "several", "whole", "number", "text", "list", "pairs", "any"]
KINDS: Mapping[str, Kind] = {"integer": "whole", "number": "number", "boolean": "switch", "string": "text"}
FEW = 4  # choices, up to which all are shown at once
TASK, PROFILE, METHOD = FIRST = ("task.name", "task.profile", "norm.method")
SEPARATORS = re.compile(r"[,\s]+")
WHOLE = re.compile(r"[-+]?\d{1,18}")


@dataclass(frozen=True, slots=True)
class Field:
    """Field of a form: one value of a spec.

    Attributes:
        name: dotted path of the value in the spec, such as ``norm.eps``.
        kind: how the form asks for the value. ``several`` is a list of choices, ``list`` a list of other values,
            ``pairs`` names with texts, ``any`` whatever YAML can say.
        default: value of the profile, or else the option's own default; ``NOTHING`` if there is neither.
        nullable: whether the value may be none.
        choices: values to choose from, for the kinds ``choice``, ``select`` and ``several``.
        items: kind of the elements, for the kind ``list``.
        written: value that the spec names; ``NOTHING`` if the spec does not name it.
        errors: messages on what is wrong with the value.
    """

    name: str
    kind: Kind
    default: Any = NOTHING
    help: str = ""
    nullable: bool = False
    choices: Sequence[str] = ()
    items: Kind = "text"
    written: Any = NOTHING
    errors: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        return self.name.rpartition(".")[2].replace("_", " ")

    @property
    def changed(self) -> bool:
        """Tell if the spec names another value than the default. Task, profile and method never count as changed."""
        return self.written is not NOTHING and self.written != self.default and self.name not in FIRST

    @property
    def is_none(self) -> bool:
        return self.nullable and self._value is None

    @property
    def texts(self) -> Sequence[str]:
        """Texts in the field's controls: the choices that are chosen, or a single text."""
        return texts_of(self.kind, None if self._value is NOTHING else self._value)

    @property
    def text(self) -> str:
        return next(iter(self.texts), "")

    @property
    def _value(self) -> Any:
        return self.default if self.written is NOTHING else self.written


def kind_of(schema: Mapping[str, Any]) -> tuple[Kind, Sequence[str], Kind]:
    """Kind of field for a value with this JSON Schema, its choices, and for a list the kind of its elements."""
    if _is_of_texts(schema):
        return ("choice" if len(schema["enum"]) <= FEW else "select"), schema["enum"], "text"
    if schema.get("type") == "array":
        items = schema.get("items", {})
        if _is_of_texts(items):
            return "several", items["enum"], "text"
        return ("list", (), KINDS[items["type"]]) if items.get("type") in KINDS else ("any", (), "text")
    if "patternProperties" in schema:
        return "pairs", (), "text"
    return KINDS.get(schema.get("type", ""), "any"), (), "text"


def _is_of_texts(schema: Mapping[str, Any]) -> bool:
    return "enum" in schema and all(isinstance(choice, str) for choice in schema["enum"])


def texts_of(kind: Kind, value: Any) -> list[str]:
    """Write a value as the texts in a field's controls. The value may be of another kind than the field."""
    if value is None:
        return []
    if kind == "several" and isinstance(value, list | tuple):
        return [_text(one) for one in value]
    if kind == "list" and isinstance(value, list | tuple):
        return [", ".join(_text(one) for one in value)]
    if kind == "pairs" and isinstance(value, Mapping):
        return ["\n".join(f"{key}: {_text(one)}" for key, one in value.items())]
    return [_text(value)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def cast(known: Field, texts: Sequence[str]) -> Any:
    """Value that the texts in a field's controls stand for; ``NOTHING`` for an empty field without a default."""
    if known.kind == "several":
        chosen = [text for text in texts if text]
        usual = known.default
        return usual if isinstance(usual, list) and sorted(chosen) == sorted(map(str, usual)) else chosen
    text = texts[-1].strip()
    if not text and known.default is NOTHING:
        return NOTHING
    if known.kind == "list":
        return [_one(known.items, part) for part in SEPARATORS.split(text) if part]
    return _one(known.kind, text)


def _one(kind: Kind, text: str) -> Any:
    if kind in ("whole", "number"):
        return _number(text)
    if kind == "switch":
        return {"true": True, "false": False}.get(text, text)
    if kind == "pairs":
        return _pairs(text)
    return _from_yaml(text) if kind == "any" else text


def _number(text: str) -> Any:
    if WHOLE.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _pairs(text: str) -> Any:
    """Read a text that has ``name: text`` in each line."""
    lines = [line.partition(":") for line in text.splitlines() if line.strip()]
    found = {key.strip(): value.strip() for key, _, value in lines}
    return found if all(colon for _, colon, _ in lines) and len(found) == len(lines) else text


def _from_yaml(text: str) -> Any:
    try:
        return load_yaml(text)
    except ValueError:
        return text
