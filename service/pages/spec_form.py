"""The form of a spec: its fields, in groups.

The fields come from the JSON Schemas of the chosen task, model, method and optimizer. A new option of one of these has
its field at once, an option of a plug-in too. The name of a field is the dotted path of its value, ``norm.eps``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel

from normcore.spec import TASKS
from normcore.spec.experiment import ExperimentSpec
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.part import Part
from normcore.spec.resolve import complete_spec
from normcore.spec.task import DEFAULT_PROFILE, Task
from normcore.spec.tasks.benchmark import Benchmark
from normcore.spec.training import Training
from service.catalogue import descriptions
from service.pages.paths import NOTHING, at, put
from service.pages.spec_fields import METHOD, PROFILE, TASK, Field, kind_of

FIRST_TASK = "permuted_digits"
CELL, OPTIMIZER = "model.cell", "training.optimizer.name"
OF_RUNS = ("seeds", "device", "priority", "labels")


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together: a part of a spec, or an object in a part.

    Attributes:
        name: dotted path of the part or object; ``runs`` for the fields at the top of a spec.
        nullable: whether the object may be none.
        is_none: whether the object is none.
        default_is_none: whether the object is none if the spec does not name it.
    """

    name: str
    title: str
    help: str
    fields: Sequence[Field]
    groups: Sequence["Group"] = ()
    nullable: bool = False
    is_none: bool = False
    default_is_none: bool = False

    def with_inner(self) -> Iterator["Group"]:
        """Yield this group, and all groups inside of it."""
        yield self
        for group in self.groups:
            yield from group.with_inner()


@dataclass(frozen=True)
class SpecForm:
    """Form of a spec.

    Attributes:
        skeleton: the spec of the choices alone. Every spec of the form contains it.
        choices: fields for the task, the profile and, where the task takes one, the method.
        groups: the other fields, by the block of the spec that they are in.
    """

    skeleton: Mapping[str, Any]
    choices: Sequence[Field]
    groups: Sequence[Group]

    @cached_property
    def all_groups(self) -> Sequence[Group]:
        """All groups of the form, with the groups inside of other groups."""
        return [group for top in self.groups for group in top.with_inner()]

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """All fields of the form, by name."""
        of_groups = [field for group in self.all_groups for field in group.fields]
        return {field.name: field for field in [*self.choices, *of_groups]}

    @cached_property
    def names(self) -> Collection[str]:
        """Paths of all fields and groups of the form."""
        return {*self.fields, *(group.name for group in self.all_groups)}


class _Chosen(NamedTuple):
    """Choices that decide which fields a form has.

    Attributes:
        written: spec that the user wrote.
        usual: complete spec of the profile.
        complete: complete spec of the profile with the chosen model, method and optimizer.
        tags: values to choose from, for each field that decides others, by the field's name.
    """

    task: type[Task]
    written: Mapping[str, Any]
    usual: Mapping[str, Any]
    complete: Mapping[str, Any]
    tags: Mapping[str, Sequence[str]]


def form_of(written: Mapping[str, Any]) -> SpecForm:
    """Make the form of a spec, valid or not. A task, method or the like that is unknown counts as not written."""
    chosen = _complete_choices(written)
    skeleton: dict[str, Any] = {}
    for tag in chosen.tags:
        if (value := at(chosen.complete, tag)) is not NOTHING:
            put(skeleton, tag, value)
    form = SpecForm(skeleton, list(_choices(chosen)), list(_groups(chosen)))
    for group in form.all_groups:
        if group.nullable:
            put(skeleton, group.name, None if group.is_none else {})
    return form


def _complete_choices(written: Mapping[str, Any]) -> _Chosen:
    name, profile = at(written, TASK), at(written, PROFILE)
    task = TASKS[name if isinstance(name, str) and name in TASKS else FIRST_TASK]
    known = isinstance(profile, str) and profile in task.profiles
    size = {"name": task.model_fields["name"].default, "profile": profile if known else DEFAULT_PROFILE}
    named: dict[str, Any] = {"task": {**size}}
    tags = _tags(task)
    for tag, choices in tags.items():
        value = at(written, tag)
        if isinstance(value, str) and value in choices:
            put(named, tag, value)
    return _Chosen(task, written, complete_spec(task, {"task": size}), complete_spec(task, named), tags)


def _tags(task: type[Task]) -> Mapping[str, Sequence[str]]:
    tags: dict[str, Sequence[str]] = {TASK: list(TASKS), PROFILE: list(task.profiles)}
    if task.model is not None and len(task.model.kinds()) > 1:
        tags[CELL] = list(task.model.kinds())
    if task.takes_norm:
        tags[METHOD] = list(METHODS)
    if issubclass(task, Benchmark):
        tags[OPTIMIZER] = list(_schema_of(Training)["properties"]["optimizer"]["discriminator"]["mapping"])
    return tags


def _choices(chosen: _Chosen) -> Iterator[Field]:
    """Make the fields for task, profile and method, which stand before the groups."""
    yield _tag_field(TASK, chosen.tags[TASK], chosen)
    yield _tag_field(PROFILE, chosen.tags[PROFILE], chosen)
    if chosen.task.takes_norm:
        fitting = descriptions.task(at(chosen.complete, TASK)).methods or sorted(METHODS)
        yield _tag_field(METHOD, list(dict.fromkeys([*fitting, at(chosen.complete, METHOD)])), chosen)


def _tag_field(tag: str, choices: Sequence[str], chosen: _Chosen) -> Field:
    kind, *_ = kind_of({"enum": choices})
    return Field(tag, kind, at(chosen.usual, tag), choices=choices, written=at(chosen.written, tag))


def _groups(chosen: _Chosen) -> Iterator[Group]:
    """Make a group for the runs, and a group for each part of the spec that has options."""
    task, method = chosen.task, at(chosen.complete, METHOD)
    model = task.model.kind_of(chosen.complete.get("model", {})) if task.model else None
    parts: list[tuple[str, str, type[Part] | None]] = [
        ("norm", f"Method: {method}", None if method is NOTHING else METHODS[method]),
        ("model", "Model", model),
        ("training", "Training", Training if issubclass(task, Benchmark) else None),
        ("task", "Task", task),
    ]
    schema = _schema_of(ExperimentSpec)
    of_runs = {name: schema["properties"][name] for name in OF_RUNS}
    yield _group("", "Runs", {**schema, "properties": of_runs}, chosen)
    for name, title, part in parts:
        if part is None:
            continue
        group = _group(name, title, _schema_of(part), chosen)
        if name == "model" and CELL in chosen.tags:
            group = replace(group, fields=[_tag_field(CELL, chosen.tags[CELL], chosen), *group.fields])
        if group.fields or group.groups:
            yield group


def _schema_of(kind: type[BaseModel]) -> Mapping[str, Any]:
    """JSON Schema of a class. Making the schemas of a form takes 80 ms, so they are made once."""
    return _make_schema(kind, tuple(OPTIMIZERS))


@lru_cache(maxsize=256)
def _make_schema(kind: type[BaseModel], optimizers: Sequence[str]) -> Mapping[str, Any]:
    """Make a schema.

    Args:
        optimizers: tags of the optimizers, which are in the schema of a training; a plug-in may add one.
    """
    return kind.model_json_schema()


def _group(path: str, title: str, schema: Mapping[str, Any], chosen: _Chosen) -> Group:
    """Make the group of the object at ``path``, from the JSON Schema of the object."""
    fields, groups = [], []
    for name, option in schema["properties"].items():
        inner_path = f"{path}.{name}" if path else name
        inner, nullable = _without_null(option, schema.get("$defs", {}))
        if "discriminator" in inner:
            groups.append(_union(inner_path, inner, chosen))
        elif "properties" in inner:
            group = _group(inner_path, name.replace("_", " ").capitalize(), inner, chosen)
            group = replace(group, help=option.get("description", ""))
            groups.append(_nullable(group, chosen) if nullable else group)
        elif "const" not in inner and inner_path != PROFILE:
            fields.append(_field(inner_path, option, inner, nullable, chosen))
    return Group(path or "runs", title, schema.get("description", ""), fields, groups)


def _nullable(group: Group, chosen: _Chosen) -> Group:
    written = at(chosen.written, group.name)
    default_is_none = at(chosen.complete, group.name) in (None, NOTHING)
    is_none = default_is_none if written is NOTHING else written is None
    return replace(group, nullable=True, is_none=is_none, default_is_none=default_is_none)


def _union(path: str, union: Mapping[str, Any], chosen: _Chosen) -> Group:
    """Make the group of an object that comes in several kinds: a field for the kind, and the fields of this kind."""
    tag, mapping = union["discriminator"]["propertyName"], union["discriminator"]["mapping"]
    schema, _ = _without_null({"$ref": mapping[at(chosen.complete, f"{path}.{tag}")]}, union["$defs"])
    group = _group(path, path.rpartition(".")[2].capitalize(), schema, chosen)
    return replace(group, fields=[_tag_field(f"{path}.{tag}", list(mapping), chosen), *group.fields])


def _field(path: str, option: Mapping[str, Any], inner: Mapping[str, Any], nullable: bool, chosen: _Chosen) -> Field:
    default = at(chosen.complete, path)
    if default is NOTHING:
        default = option.get("default", NOTHING)
    usual = list(default) if isinstance(default, tuple) else default
    kind, choices, items = kind_of(inner)
    help = option.get("description", "")
    return Field(path, kind, usual, help, nullable, choices, items, at(chosen.written, path))


def _without_null(option: Mapping[str, Any], definitions: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Schema of an option's values other than null, with its definitions; and whether null is allowed."""
    alternatives = option.get("anyOf", [option])
    others = [one for one in alternatives if one.get("type") != "null"]
    inner = others[0] if len(others) == 1 else {}
    resolved = definitions[inner["$ref"].rpartition("/")[2]] if "$ref" in inner else inner
    return {**resolved, "$defs": definitions}, len(others) < len(alternatives)
