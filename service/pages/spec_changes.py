"""The short form of a spec: its task, profile and method, and the values that differ from the profile."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from service.pages.paths import NOTHING, put
from service.pages.spec_fields import FIRST, cast
from service.pages.spec_form import CELL, OPTIMIZER, SpecForm, form_of

NONE = "none"  # the control whose values name the fields that are null
SHOWN = "shown"  # the control that says which fields the form had
RESET = "reset"  # the buttons that reset a field, or all of them
ALL = "all"  # value of the button that resets all fields
ALSO, REST = "also", "rest"  # the controls of a sweep: methods to try as well, and what the form does not show
CONTROLS = frozenset({NONE, SHOWN, RESET, ALSO, REST, "yaml", "yaml_shown", "edited", "action", "idempotency_key"})

Pairs = Sequence[tuple[str, str]]
Texts = Mapping[str, Sequence[str]]


def written_spec(pairs: Pairs) -> dict[str, Any]:
    """Read the short form of a spec from the fields that a form has sent.

    If the user has chosen another task, method or optimizer, only changes are kept that still have a field.
    """
    sent: dict[str, list[str]] = {}
    for name, text in pairs:
        sent.setdefault(name, []).append(text)
    controls = {name: sent.pop(name) for name in CONTROLS & sent.keys()}
    shown = form_of(_skeleton(sent, controls))
    changes = _changes(shown, sent, controls)
    tags: dict[str, Any] = {}
    for name in (*FIRST, CELL, OPTIMIZER):
        if name in changes:
            put(tags, name, changes[name])
    now = form_of(tags)
    spec: dict[str, Any] = {}
    for name, value in changes.items():
        usual = now.fields[name].default if name in now.fields and name not in FIRST else NOTHING
        if (name in now.names or name not in shown.names) and value != usual:
            put(spec, name, value)
    return spec


def reduce_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce a complete spec to its short form."""
    form = form_of(spec)
    found: dict[str, Any] = {}
    for name, field in form.fields.items():
        if field.changed or (name in FIRST and field.written is not NOTHING):
            put(found, name, field.written)
    for group in form.all_groups:
        if group.is_none and not group.default_is_none:
            put(found, group.name, None)
    return found


def _skeleton(sent: Texts, controls: Texts) -> Mapping[str, Any]:
    """Find the choices that decided which fields the form had: by its control ``shown``, else by all its values."""
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


def _changes(shown: SpecForm, sent: Texts, controls: Texts) -> dict[str, Any]:
    """Values that differ from the defaults of the form, by path. Changes of whole objects come first."""
    none, reset = controls.get(NONE, ()), controls.get(RESET, ())
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
