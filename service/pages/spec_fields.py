"""Translation between the fields of a form and a spec, in both directions.

What cannot be read as its field asks stays text: the spec's own check then refuses it, with an error at that field.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from normcore.spec.files import load_yaml
from service.pages.paths import NOTHING, at, put
from service.pages.spec_form import METHOD, PROFILE, TASK, Field, Form, Kind, form_of

NONE = "none"  # the control whose values name the fields that are none
SHOWN = "shown"  # the control that says which fields the form had
CONTROLS = frozenset({NONE, SHOWN, "yaml", "yaml_shown", "edited", "action", "reset", "idempotency_key"})
FIRST = (TASK, PROFILE, METHOD)
SEPARATORS = re.compile(r"[,\s]+")
WHOLE = re.compile(r"[-+]?\d{1,18}")
ALL = "all"  # fields to be reset

Pairs = Sequence[tuple[str, str]]


def written_spec(pairs: Pairs) -> dict[str, Any]:
    """The spec that a form's fields stand for: what was chosen first, and what differs from the profile.

    After another task, method or the like was chosen, of the changes those stay that there is still a field for.
    """
    sent, controls = _sorted(pairs)
    shown = form_of(_skeleton(sent, controls))
    changes = _changes(shown, sent, controls)
    tags: dict[str, Any] = {}
    for name, value in changes.items():
        if name in shown.fields and shown.fields[name].decides:
            put(tags, name, value)
    now = form_of(tags)
    spec: dict[str, Any] = {}
    for name, value in changes.items():
        if (name in now.names or name not in shown.names) and not _is_usual(now, name, value):
            put(spec, name, value)
    return spec


def _is_usual(form: Form, name: str, value: Any) -> bool:
    return name not in FIRST and name in form.fields and value == form.fields[name].default


def reduced(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A complete spec without what its profile has anyway."""
    form = form_of(spec)
    found: dict[str, Any] = {}
    for name, known in form.fields.items():
        value = at(spec, name)
        if value is not NOTHING and (name in FIRST or value != known.default):
            put(found, name, value)
    for group in form.all_groups:
        if group.nullable and group.is_none and not group.default_is_none:
            put(found, group.name, None)
    return found


@dataclass(frozen=True)
class Filled:
    """A field with what stands in it.

    Attributes:
        texts: what its controls show: one text, or of several choices those that are chosen.
        changed: whether it differs from the default.
    """

    known: Field
    texts: Sequence[str]
    is_none: bool
    changed: bool
    errors: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.texts[0] if self.texts else ""


def filled(form: Form, spec: Mapping[str, Any]) -> dict[str, Filled]:
    """Every field with what the spec has there, or else its default."""
    return {name: _filled(known, at(spec, name)) for name, known in form.fields.items()}


def _filled(known: Field, written: Any) -> Filled:
    value = known.default if written is NOTHING else written
    changed = written is not NOTHING and written != known.default and known.name not in FIRST
    shown = value if value is not NOTHING else None
    return Filled(known, texts_of(known.kind, shown), known.nullable and value is None, changed)


def texts_of(kind: Kind, value: Any) -> list[str]:
    """Texts of a field's controls for any value."""
    if value is None:
        return []
    if kind == "several" and isinstance(value, list | tuple):
        return [_text(one) for one in value]
    if kind == "list" and isinstance(value, list | tuple):
        return [", ".join(_text(one) for one in value)]
    if kind == "pairs" and isinstance(value, Mapping):
        return ["\n".join(f"{key}: {_text(one)}" for key, one in value.items())]
    return [_text(value)]


def cast(known: Field, texts: Sequence[str]) -> Any:
    """The value that a field's controls stand for; ``NOTHING`` if nothing was given and nothing is usual."""
    if known.kind == "several":
        chosen = [text for text in texts if text]
        usual = known.default
        return usual if isinstance(usual, list) and sorted(chosen) == sorted(map(str, usual)) else chosen
    text = texts[-1].strip()
    if not text and known.default is NOTHING:
        return NOTHING
    if known.kind == "list":
        return [_one(known.items, part) for part in SEPARATORS.split(text) if part]
    if known.kind == "pairs":
        return _pairs(text)
    return _one(known.kind, text)


def _one(kind: Kind, text: str) -> Any:
    if kind in ("whole", "number"):
        return _number(text)
    if kind == "switch":
        return {"true": True, "false": False}.get(text, text)
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
    """One ``name: text`` a line."""
    lines = [line.partition(":") for line in text.splitlines() if line.strip()]
    found = {key.strip(): value.strip() for key, _, value in lines}
    return found if all(colon for _, colon, _ in lines) and len(found) == len(lines) else text


def _from_yaml(text: str) -> Any:
    try:
        return load_yaml(text)
    except ValueError:
        return text


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


def _sorted(pairs: Pairs) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The fields of the spec, and the form's own controls."""
    sent: dict[str, list[str]] = {}
    controls: dict[str, list[str]] = {}
    for name, text in pairs:
        (controls if name in CONTROLS else sent).setdefault(name, []).append(text.replace("\r\n", "\n"))
    return sent, controls


def _skeleton(sent: Mapping[str, Sequence[str]], controls: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """Values that decided which fields the form had. A form that does not say so decides by what it sends."""
    try:
        shown = json.loads(controls.get(SHOWN, [""])[-1])
    except ValueError:
        shown = None
    if isinstance(shown, Mapping):
        return shown
    skeleton: dict[str, Any] = {}
    for name, texts in sent.items():
        put(skeleton, name, texts[-1])
    return skeleton


def _changes(shown: Form, sent: Mapping[str, Sequence[str]], controls: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Values that differ from the default, by path. Whole objects come first."""
    none, reset = controls.get(NONE, ()), controls.get("reset", ())
    changes: dict[str, Any] = {}
    for group in shown.all_groups if SHOWN in controls else ():
        if group.nullable and (group.name in none) != group.default_is_none:
            changes[group.name] = None if group.name in none else {}
    for name, texts in sent.items():
        known = shown.fields.get(name)
        if known is None or name in FIRST:
            changes[name] = texts[-1]
        elif name not in reset and ALL not in reset and not any(name.startswith(f"{one}.") for one in none):
            value = None if known.nullable and name in none else cast(known, texts)
            if value is not NOTHING and value != known.default:
                changes[name] = value
    return changes
