"""From what a user wrote to a resolved spec: fill in the profile, check, and say clearly what is wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from normcore.spec.experiment import HASHED, AnalysisSpec, ExperimentSpec, TrainingSpec
from normcore.spec.messages import choose, message, quoted, suggestion
from normcore.spec.methods import METHODS
from normcore.spec.model import CELLS
from normcore.spec.tasks import ANALYSES, DEFAULT_PROFILE, TASKS, Analysis, Benchmark, Profile, Task
from normcore.spec.training import OPTIMIZERS, Training

TAGS: Mapping[tuple[str, ...], tuple[str, Mapping[str, type[BaseModel]]]] = {
    ("task",): ("name", TASKS),
    ("model",): ("cell", CELLS),
    ("norm",): ("method", METHODS),
    ("training", "optimizer"): ("name", OPTIMIZERS),
}
"""Where a spec is a tagged union: the tag's field, and the class that each tag chooses."""
WITHOUT_TAG = ("missing", "model_type", "model_attributes_type")
SHORTEST = '{"task": {"name": "permuted_digits"}}'


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


def resolve(written: Any) -> ExperimentSpec:
    """Complete ``written`` from its task's profile and validate it.

    Args:
        written: a mapping as read from JSON or YAML.

    Raises:
        InvalidSpec: with one error for every field that is wrong.
    """
    if not isinstance(written, Mapping):
        raise InvalidSpec([SpecError((), f"a spec is an object with at least a task, as {SHORTEST}", "type")])
    kind = AnalysisSpec if _tag(written.get("task"), "name") in ANALYSES else TrainingSpec
    try:
        return kind.model_validate(_completed(written))
    except ValidationError as error:
        errors = [_spec_error(e) for e in error.errors(include_url=False)]
        if any(e.loc[:1] == ("task",) for e in errors):  # without its task, what a spec omits is not missing
            errors = [e for e in errors if e.type != "missing" or e.loc[:1] == ("task",)]
        raise InvalidSpec(errors) from None


def changes(spec: TrainingSpec) -> dict[str, Any]:
    """Fields in which ``spec`` departs from its profile's defaults for its method, by dotted path."""
    task = {"name": spec.task.name, "profile": spec.task.profile}
    usual = _flat(resolve({"task": task, "model": {"cell": spec.model.cell}, "norm": {"method": spec.norm.method}}))
    usual["model.cell"] = spec.task.profiles[spec.task.profile].model["cell"]
    return {path: value for path, value in _flat(spec).items() if path not in usual or usual[path] != value}


def _flat(spec: ExperimentSpec) -> dict[str, Any]:
    flat: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        else:
            flat[prefix] = value

    walk("", spec.model_dump(mode="json", include=set(HASHED)))
    return flat


def _completed(written: Mapping[str, Any]) -> dict[str, Any]:
    """``written`` with everything it omits taken from the profile; what is no mapping is left for validation."""
    spec = dict(written)
    task = written.get("task")
    known = TASKS.get(_tag(task, "name"))
    if known is None or not isinstance(task, Mapping):
        return spec
    profile = known.profiles.get(_tag(task, "profile", DEFAULT_PROFILE))  # type: ignore[call-overload]
    if profile is None:
        return spec

    spec["task"] = {**profile.task, **task}
    cell = ""
    if _takes(known, "model"):
        model = written.get("model", {})
        cell = _tag(model, "cell", profile.model["cell"])
        spec["model"] = _over({"cell": cell, **_fields_of(CELLS.get(cell), profile.model)}, model)
    if _takes(known, "norm"):
        norm = written.get("norm", {})
        method = _tag(norm, "method", "none")
        own = METHODS[method].defaults(cell) if cell and method in METHODS else {}
        spec["norm"] = _over({"method": method, **own, **profile.norm.get(method, {})}, norm)
    if issubclass(known, Benchmark):
        spec["training"] = _training(profile, written.get("training", {}))
    return spec


def _takes(task: type[Task], part: Literal["model", "norm"]) -> bool:
    return part in task.parts if issubclass(task, Analysis) else True


def _training(profile: Profile, written: Any) -> Any:
    training = _over(profile.training, written)
    if isinstance(training, dict):
        optimizer = profile.training["optimizer"]
        chosen = training["optimizer"]
        if _tag(chosen, "name", optimizer["name"]) == optimizer["name"]:
            training["optimizer"] = _over(optimizer, chosen)
    return training


def _tag(part: Any, name: str, default: str = "") -> str:
    tag = part.get(name, default) if isinstance(part, Mapping) else default
    return tag if isinstance(tag, str) else ""


def _fields_of(chosen: type[BaseModel] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a profile's options that the chosen class has, its tag aside."""
    fields = chosen.model_fields if chosen else {}
    return {key: value for key, value in options.items() if key in fields and key != "cell"}


def _over(defaults: Mapping[str, Any], given: Any) -> Any:
    return {**defaults, **given} if isinstance(given, Mapping) else given


def _spec_error(error: Any) -> SpecError:
    """Translate one of pydantic's errors: no union tags in the path, and a repair in the message."""
    loc, context = list(error["loc"]), error.get("ctx", {})
    chosen: type[BaseModel] | None = None
    for path, (field, classes) in TAGS.items():
        end = len(path)
        if tuple(loc[:end]) == path:
            if len(loc) > end and loc[end] in classes:
                chosen = classes[loc[end]]
                del loc[end]
            elif error["type"].startswith("union_tag"):
                return SpecError((*path, field), _tag_message(error["input"], field, classes), "unknown_" + field)
            elif error["type"] in WITHOUT_TAG and len(loc) == end:
                return SpecError(path, _object_message(error, field, classes), error["type"])
    loc += context.get("loc", [])
    if error["type"] == "extra_forbidden" and loc == ["training"]:
        return SpecError(("training",), "an analysis trains nothing; remove it", "unknown_field")
    if error["type"] == "extra_forbidden":
        return SpecError(tuple(loc), _unknown_field(loc, chosen), "unknown_field")
    return SpecError(tuple(loc), message(error), error["type"])


def _tag_message(part: Any, field: str, known: Iterable[str]) -> str:
    if field not in part:
        return f"it is required; {choose(None, known)}"
    return f"unknown {quoted(part[field])}; {choose(part[field], known)}"


def _object_message(error: Any, field: str, known: Mapping[str, Any]) -> str:
    given = error["input"]
    tag = given if isinstance(given, str) and given in known else next(iter(known))
    wrong = "it is required; add it" if error["type"] == "missing" else "expected an object"
    return f'{wrong}, as {{"{field}": "{tag}"}}'


def _unknown_field(loc: list[str | int], chosen: type[BaseModel] | None) -> str:
    """``chosen`` is the class that the part's tag names."""
    path, name = tuple(map(str, loc[:-1])), str(loc[-1])
    plain: dict[tuple[str, ...], type[BaseModel]] = {(): TrainingSpec, ("training",): Training}
    part = plain.get(path, chosen)
    meant = suggestion(name, part.model_fields) if part else ""
    return f"unknown field; {meant.strip() or 'remove it'}"
