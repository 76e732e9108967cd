"""Resolution of a spec: fill in what is missing from the task's profile, check the spec, and list its errors."""

import json
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from normcore.spec.advice_check import check_advice, without_fields
from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.errors import InvalidSpec, SpecError, first_errors
from normcore.spec.evolution import SPEC_VERSION, upgrade
from normcore.spec.experiment import HASHED, AnalysisSpec, ExperimentSpec, TrainingSpec
from normcore.spec.messages import Advice, after, explain_unknown, message, quote_value
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.plug_ins.blame import blame_plug_ins, list_plug_in_parts
from normcore.spec.ranges import out_of_range
from normcore.spec.spelling import is_another_tag
from normcore.spec.task import DEFAULT_PROFILE, Need, Profile, Task
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark
from normcore.spec.training import LinearDecay, Training
from normcore.spec.unknown_fields import USUAL_TASK, no_object, unknown_field, where_its_name_is, where_the_task_is
from normcore.spec.wrong_values import missing, wrong_value

TASKS: Mapping[str, type[Task]] = ChainMap(ANALYSES, BENCHMARKS)  # type: ignore[arg-type]
"""All tasks that ``task.name`` of a spec can name, by name."""
MAX_EVALUATIONS = 100_000  # evaluations of a run
SHORTEST = f'{{"task": {{"name": "{USUAL_TASK}"}}}}'


def resolve(written: Any) -> ExperimentSpec:
    """Complete the spec ``written`` from the profile of its task, and validate the spec.

    Args:
        written: a spec as read from JSON or YAML. A spec with an older ``spec_version`` is upgraded.

    Raises:
        InvalidSpec: the spec is not valid; there is one error for every field that is wrong.
    """
    if not isinstance(written, Mapping):
        raise InvalidSpec([SpecError((), f"a spec is an object with at least a task, as {SHORTEST}", "type")])
    written = _of_this_version(written)
    task = _part(written, "task")
    name = task.get("name")
    if not isinstance(name, str) or name not in TASKS:
        raise InvalidSpec([_no_task(written)])
    with blame_plug_ins(written):
        spec = _validate_spec(TASKS[name], written)
        _check_spec(spec)
        if any(list_plug_in_parts(written)):
            _rehearse(spec)
    return spec


def _validate_spec(task: type[Task], written: Mapping[str, Any]) -> ExperimentSpec:
    try:
        return _read_spec(task, written)
    except ValidationError as error:
        found = error.errors(include_url=False)
    errors = first_errors(found, lambda e: _spec_error(e, written))
    if any(e.loc[:1] == ("task",) for e in errors):  # without a valid task, omitted fields are not missing
        errors = [e for e in errors if e.type != "missing" or e.loc[:1] == ("task",)]
    shown = [e for e in errors if not _follows_from_another(e, errors)]
    rest = without_fields(written, filter(None, map(_place, found)))
    raise InvalidSpec([check_advice(e, rest, lambda spec: _wrong_fields(task, spec), part_classes) for e in shown])


def _read_spec(task: type[Task], written: Mapping[str, Any]) -> ExperimentSpec:
    kind = TrainingSpec if issubclass(task, Benchmark) else AnalysisSpec
    return kind.model_validate(complete_spec(task, written))


def _check_spec(spec: ExperimentSpec) -> None:
    """Check what only a spec that is valid as a whole can be checked for.

    Raises:
        InvalidSpec: the spec has too many evaluations, too large numbers, or an option that changes nothing.
    """
    for find_errors in (_too_many_evaluations, out_of_range, _pointless_options):
        errors = find_errors(spec)
        if errors:
            raise InvalidSpec(errors)


def _wrong_fields(task: type[Task], written: Mapping[str, Any]) -> list[tuple[str | int, ...]]:
    """List the paths of the fields for which a spec is refused."""
    try:
        _check_spec(_read_spec(task, written))
    except ValidationError as error:
        return [_place(e) for e in error.errors(include_url=False)]
    except InvalidSpec as error:
        return [e.loc for e in error.errors]
    return []


def _place(error: Any) -> tuple[str | int, ...]:
    """Return the path of the field that an error of pydantic's is about."""
    return (*error["loc"], *error.get("ctx", {}).get("loc", ()))


def _too_many_evaluations(spec: ExperimentSpec) -> list[SpecError]:
    """List the error of a run with more than ``MAX_EVALUATIONS`` evaluations. Stored specs may have more."""
    if not isinstance(spec, TrainingSpec):
        return []
    updates, every = spec.training.max_steps, spec.training.eval_every
    if updates <= MAX_EVALUATIONS * every:
        return []
    wrong = (
        f"{updates:,} updates with an evaluation every {every:,} are {updates // every:,} evaluations, over"
        f" {MAX_EVALUATIONS:,}; use {-(-updates // MAX_EVALUATIONS):,} or more"
    )
    return [SpecError(("training", "eval_every"), wrong, "evaluations")]


def _pointless_options(spec: ExperimentSpec) -> list[SpecError]:
    """List the options of a valid spec that are pointless, for example because they change nothing."""
    subject = spec.model or spec.task.subject
    found = {"norm": spec.norm.pointless(subject) if spec.norm and subject else None}
    if isinstance(spec, TrainingSpec):
        found["task"] = spec.task.pointless(spec.model, spec.norm)
        found["model"] = spec.model.pointless(spec.norm)
        found["training"] = spec.training.pointless()
    return [SpecError((part, misfit.field), misfit.message, "pointless") for part, misfit in found.items() if misfit]


def _rehearse(spec: ExperimentSpec) -> None:
    """Call the functions of a spec's parts that the service calls when it stores the spec, so that a plug-in's faults
    show now."""
    for need in spec.task.needs():
        if not isinstance(need, Need):
            raise TypeError(f"needs() gave {need!r}, which is not a Need")
    spec.fingerprint()


def _follows_from_another(error: SpecError, errors: Sequence[SpecError]) -> bool:
    """Tell if an error goes away when another error is mended: a list counts as too short only because some of its
    elements are invalid. Or a field counts as unknown only because the tag of its part has another name."""
    if error.loc[:1] == ("labels",) and not isinstance(error.loc[-1], str):  # the name's error writes both in quotes
        return True
    if error.type == "unknown_field" and not is_another_tag(error.loc):
        return any(e.loc[:-1] == error.loc[:-1] and is_another_tag(e.loc) for e in errors)
    return error.type == "too_short" and any(
        len(e.loc) > len(error.loc) and e.loc[: len(error.loc)] == error.loc for e in errors
    )


def changes(spec: TrainingSpec) -> dict[str, Any]:
    """Return the fields in which ``spec`` differs from its profile: the spec's values, by dotted path. Options of the
    norm are compared with the profile's options for the same method and model."""
    return {path: value for path, (value, _) in departures(spec).items()}


def departures(spec: TrainingSpec) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which ``spec`` differs from its profile, by dotted path: the spec's value and the profile's
    value. The profile's value is None if the profile does not have the field."""
    usual = _usual_fields(type(spec.task), spec.task.profile, type(spec.norm), type(spec.model))
    return {
        path: (value, usual.get(path))
        for path, value in _flat(spec).items()
        if path not in usual or usual[path] != value
    }


@lru_cache(maxsize=1024)
def _usual_fields(task: type[Benchmark], profile: str, norm: type[Method], model: type[Model]) -> Mapping[str, Any]:
    """Return the fields of a profile, by dotted path. The method has its options for this model. The cell is the
    profile's. The result is cached, because it takes two resolutions."""
    named = {"name": BENCHMARKS.tag_of(task), "profile": profile}
    chosen = {"cell": CELLS.tag_of(model)} if issubclass(model, RecurrentModel) else {}
    usual = _flat(resolve({"task": named, "norm": {"method": METHODS.tag_of(norm)}, "model": chosen}))
    own = resolve({"task": named}).model
    return usual | ({"model.cell": own.cell} if isinstance(own, RecurrentModel) else {})


def _of_this_version(written: Mapping[str, Any]) -> Mapping[str, Any]:
    version = written.get("spec_version", SPEC_VERSION)
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= SPEC_VERSION:
        wrong = f"expected 0 to {SPEC_VERSION}, the versions that this normbench knows; leave it out for the newest"
        raise InvalidSpec([SpecError(("spec_version",), wrong, "spec_version")])
    return upgrade(written) if version < SPEC_VERSION and isinstance(written.get("task"), Mapping) else written


def _no_task(written: Mapping[str, Any]) -> SpecError:
    task = written.get("task")
    if "task" not in written:
        return SpecError(("task",), after("it is required; ", where_the_task_is(written, TASKS)), "missing")
    advice = where_its_name_is(task, TASKS)
    if advice is not None and not _part(written, "task").get("name"):
        return SpecError(("task", "name"), after("it is required; ", advice), "unknown_name")
    if not isinstance(task, Mapping):
        return SpecError(("task",), no_object(task, TASKS), "model_type")
    name = task.get("name")
    wrong = "it is required" if name is None else f"unknown {quote_value(name)}"
    return SpecError(("task", "name"), f"{wrong}; {explain_unknown(name, TASKS)}", "unknown_name")


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


def complete_spec(known: type[Task], written: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in from the task's profile what ``written`` omits. A part that is not a mapping stays as it is, for
    validation."""
    spec = dict(written)
    task = _part(written, "task")
    name = task.get("profile", DEFAULT_PROFILE)
    profile = known.profiles.get(name) if isinstance(name, str) else None  # type: ignore[call-overload]
    if profile is None:
        return spec

    spec["task"] = {**profile.task, **task}
    model = known.model and _chosen_model(known.model, profile, written)
    if known.model is not None:
        spec["model"] = _over(_fields_of(model, profile.model), written.get("model", {}))
    if known.takes_norm:
        subject = type(known.subject) if known.subject else None
        spec["norm"] = _norm(profile, written.get("norm", {}), model or subject)
    if issubclass(known, Benchmark):
        spec["training"] = _training(profile, written.get("training", {}))
    return spec


def _chosen_model(family: type[Model], profile: Profile, written: Mapping[str, Any]) -> type[Model] | None:
    return family.kind_of({**profile.model, **_part(written, "model")})


def _norm(profile: Profile, written: Any, model: type[Model] | None) -> Any:
    method = _tag(written, "method", "none")
    own = METHODS[method].defaults(model) if model and method in METHODS else {}
    return _over({"method": method, **own, **profile.norm.get(method, {})}, written)


def _training(profile: Profile, written: Any) -> Any:
    training = _over(profile.training, written)
    if isinstance(training, dict):
        optimizer = profile.training["optimizer"]
        chosen = training["optimizer"]
        if _tag(chosen, "name", optimizer["name"]) == optimizer["name"]:
            training["optimizer"] = _over(optimizer, chosen)
    return training


def _part(written: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = written.get(name)
    return part if isinstance(part, Mapping) else {}


def _tag(part: Any, name: str, default: str = "") -> str:
    tag = part.get(name, default) if isinstance(part, Mapping) else default
    return tag if isinstance(tag, str) else ""


def _fields_of(chosen: type[BaseModel] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a profile's options that are fields of the chosen class; all options if no class is chosen."""
    if chosen is None:
        return dict(options)
    fields = chosen.model_fields
    return {key: value for key, value in options.items() if key in fields}


def _over(defaults: Mapping[str, Any], given: Any) -> Any:
    return {**defaults, **given} if isinstance(given, Mapping) else given


def _spec_error(error: Any, written: Mapping[str, Any]) -> SpecError:
    """Convert an error of pydantic's to an error with a message that says what to write instead."""
    loc = _place(error)
    if error["type"] == "extra_forbidden" and loc == ("training",):
        return SpecError(loc, "an analysis trains nothing; remove it", "unknown_field")
    if error["type"] == "extra_forbidden":
        return SpecError(loc, unknown_field(loc, error["input"], part_classes(written), TASKS), "unknown_field")
    if loc[2:] == ("[key]",):  # a label's name; a label can be named [key], too
        return _name_error(error, loc[:-1], written)
    if error["type"] == "missing":
        return SpecError(loc, missing(error, loc, part_classes(written)), error["type"])
    given = error["input"]  # the whole part if its tag is unknown
    value = given.get(loc[-1]) if loc != error["loc"] and isinstance(given, Mapping) else given
    return SpecError(loc, wrong_value(error, loc, value, part_classes(written)), error["type"])


def _name_error(error: Any, loc: tuple[str | int, ...], written: Mapping[str, Any]) -> SpecError:
    """Convert an error of the name in an object of names and values. A number is a name if it stands in quotes."""
    name = error["input"]
    if isinstance(name, str):
        return SpecError(loc, message(error), error["type"])
    path = (*loc[:-1], json.dumps(name))
    value = _part(written, str(loc[0])).get(name)
    text = value if isinstance(value, str) else json.dumps(value)
    return SpecError(path, Advice("expected text", path, text, "; put the name in quotes:"), error["type"])


def part_classes(written: Mapping[str, Any]) -> Mapping[tuple[str | int, ...], type[BaseModel]]:
    """Return the class of each part of a spec, by path. Parts whose class is not known are left out."""
    return dict(_classes(written))


def _classes(written: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], type[BaseModel]]]:
    name = _tag(written.get("task"), "name")
    if name not in TASKS:
        yield (), TrainingSpec
        return
    task = TASKS[name]
    profile = task.profiles.get(_tag(written.get("task"), "profile", DEFAULT_PROFILE))  # type: ignore[call-overload]
    yield (), TrainingSpec if issubclass(task, Benchmark) else AnalysisSpec
    yield ("task",), task
    if issubclass(task, Benchmark):
        yield ("training",), Training
        if isinstance(_part(written, "training").get("schedule"), Mapping):
            yield ("training", "schedule"), LinearDecay
    if profile is None:
        return
    model = task.model and _chosen_model(task.model, profile, written)
    if model is not None:
        yield ("model",), model
    method = METHODS.get(_tag(written.get("norm"), "method", "none"))
    if method is not None:
        yield ("norm",), method
    optimizer = profile.training.get("optimizer", {}) | _part(_part(written, "training"), "optimizer")
    chosen = _tag(optimizer, "name")
    if chosen in OPTIMIZERS:
        yield ("training", "optimizer"), OPTIMIZERS[chosen]
