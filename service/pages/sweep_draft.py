"""The part of a sweep that the form of a spec shows: fields with several values, and several methods.

The form keeps what it cannot show, as random draws: it stands in the YAML, and in a hidden control.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from normcore.spec import SpecError
from normcore.spec.methods import METHODS
from service.pages.paths import NOTHING, at, put
from service.pages.spec_fields import METHOD, Field
from service.pages.spec_form import SpecForm, form_of
from service.sweeps.typed_values import read_line, write_line

NUMBERS = ("whole", "number")
OWN = ("spec", "grid")  # fields of a sweep that the form shows, at least in part


@dataclass(frozen=True)
class SweepDraft:
    """Sweep that a user is writing; a single experiment if nothing is swept.

    Attributes:
        spec: spec as the form shows it: a swept field has the line that the user typed.
        methods: methods to try, the method of the spec first; empty for this method alone.
        rest: parts of the sweep that the form does not show, by the names of a sweep's body.
    """

    spec: Mapping[str, Any]
    methods: Sequence[str] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> tuple[dict[str, Any], list[SpecError]]:
        """Body to submit, and what is wrong with typed ranges. The body is a spec, unless something is swept."""
        spec, grid, errors = deepcopy(dict(self.spec)), dict[str, list[Any]](), list[SpecError]()
        if len(self.methods) > 1:
            grid[METHOD] = list(self.methods)
        for name, known in form_of(spec).fields.items():
            values = read_line(known.written) if _may_be_swept(known) and isinstance(known.written, str) else None
            if isinstance(values, str):
                errors.append(SpecError(tuple(name.split(".")), values, "range"))
            elif values is not None:
                grid[name] = values
                _drop(spec, name)
        grid |= self.rest.get("grid", {})
        if not grid and not self.rest:
            return spec, errors
        options = at(spec, "norm")
        if METHOD in grid and isinstance(options, dict) and len(options) > 1:  # which the other methods may not have
            del grid[METHOD]
            grid = {"norm": [options, *({"method": method} for method in self.methods[1:])], **grid}
        for path in (*grid, *self.rest.get("random", {})):
            _drop(spec, path)
        others = {name: content for name, content in self.rest.items() if name not in OWN}
        return {"spec": spec, **({"grid": grid} if grid else {}), **others}, errors


def is_sweep(body: Any) -> bool:
    """Tell if what a user wrote is a sweep, not a spec."""
    return isinstance(body, Mapping) and "spec" in body and ("grid" in body or "random" in body)


def read_body(body: Mapping[str, Any]) -> SweepDraft:
    """Read a body, valid or not, as the form shows it."""
    if not is_sweep(body):
        return SweepDraft(dict(body))
    spec = deepcopy(dict(body["spec"])) if isinstance(body["spec"], Mapping) else {}
    grid = body.get("grid", {})
    grid, kept = dict(grid) if isinstance(grid, Mapping) else {}, dict[str, Any]()
    methods: tuple[str, ...] = ()
    if _are_methods(grid.get(METHOD)):
        methods = tuple(grid.pop(METHOD))
        put(spec, METHOD, methods[0])
    form = form_of(spec)
    for path, values in grid.items():
        if path in form.fields and _may_be_swept(form.fields[path]) and _are_numbers(values):
            put(spec, path, write_line(values))
        else:
            kept[path] = values
    rest = {name: content for name, content in body.items() if name not in OWN}
    return SweepDraft(spec, methods, {**rest, **({"grid": kept} if kept else {})})


def read_rest(text: str) -> dict[str, Any]:
    """Read the hidden control with the parts of a sweep that the form does not show."""
    rest = read_object(text)
    return rest if isinstance(rest.get("grid", {}), dict) else {}


def read_object(text: str) -> dict[str, Any]:
    """Read the JSON object of a hidden control; a text that is none counts as empty."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def with_methods(draft: SweepDraft, chosen: Sequence[str]) -> SweepDraft:
    """Add the methods that the user wants to try besides the method of the spec. Options of this method stay with it:
    the other methods have their defaults."""
    first = at(draft.spec, METHOD)
    others = [method for method in chosen if method in METHODS and method != first]
    return replace(draft, methods=(first, *others) if others and first is not NOTHING else ())


def place_errors(errors: Sequence[SpecError], form: SpecForm) -> list[SpecError]:
    """Give the errors of a sweep the places that the form's fields have."""
    return [SpecError(_place(error.loc, form), error.msg, error.type) for error in errors]


def _place(loc: tuple[str | int, ...], form: SpecForm) -> tuple[str | int, ...]:
    if loc[:1] == ("spec",) and len(loc) > 1:
        return loc[1:]
    if loc[:1] == ("grid",) and len(loc) > 1 and str(loc[1]) in form.names:
        return tuple(str(loc[1]).split("."))
    return loc


def _may_be_swept(known: Field) -> bool:
    return known.kind in NUMBERS and not known.name.startswith(("seeds", "priority"))


def _are_methods(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(one, str) and one in METHODS for one in values)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and len(values) > 1 and all(type(value) in (int, float) for value in values)


def _drop(spec: dict[str, Any], path: str) -> None:
    """Drop a field from a spec, and the objects that it leaves empty."""
    above, _, last = path.rpartition(".")
    part = at(spec, above) if above else spec
    if isinstance(part, dict):
        part.pop(last, None)
        if above and not part:
            _drop(spec, above)
