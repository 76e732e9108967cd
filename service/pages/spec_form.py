"""The fields of a form for a spec: which there are, what they hold by default, and how each is asked for.

They come from the JSON Schemas of the chosen task, model, method and optimizer, so that an option that is added to one
of them has its field at once, plug-ins' too. A field's name is the dotted path of what it holds, ``norm.eps``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple

from normcore.spec import TASKS
from normcore.spec.experiment import ExperimentSpec
from normcore.spec.methods import METHODS
from normcore.spec.part import Part
from normcore.spec.resolve import completed
from normcore.spec.task import DEFAULT_PROFILE, Task
from normcore.spec.tasks.benchmark import Benchmark
from normcore.spec.training import Training
from service.catalogue import descriptions
from service.pages.paths import NOTHING, at, put

Kind = Literal["choice", "select", "switch", "several", "whole", "number", "text", "list", "pairs", "any"]
FEW = 4  # choices, up to which all are shown at once
FIRST_TASK = "permuted_digits"
TASK, PROFILE, METHOD = "task.name", "task.profile", "norm.method"
CELL, OPTIMIZER = "model.cell", "training.optimizer.name"
OF_RUNS = ("seeds", "device", "priority", "labels")
KINDS: Mapping[str, Kind] = {"integer": "whole", "number": "number", "boolean": "switch", "string": "text"}


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a spec.

    Attributes:
        kind: how it is asked for. ``several`` is a list of choices, ``list`` one of other values, ``pairs`` names with
            texts, ``any`` whatever YAML can say.
        default: the profile's, or else the option's own; ``NOTHING`` where there is none.
        nullable: whether it may be none.
        choices: of ``choice``, ``select`` and ``several``.
        items: of ``list``, the kind of its elements.
    """

    name: str
    kind: Kind
    default: Any = NOTHING
    help: str = ""
    nullable: bool = False
    choices: Sequence[str] = ()
    items: Kind = "text"

    @property
    def label(self) -> str:
        return self.name.rpartition(".")[2].replace("_", " ")

    @property
    def decides(self) -> bool:
        """Tell if other fields depend on this field."""
        return self.name in (TASK, PROFILE, METHOD, CELL, OPTIMIZER)


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together: a part of a spec, or an object in it.

    Attributes:
        name: the path of what it holds; ``runs`` for the fields at the top of a spec.
        nullable: whether the whole may be none; ``is_none``: whether it is.
        default_is_none: whether it is none unless a spec says otherwise.
    """

    name: str
    title: str
    help: str
    fields: Sequence[Field]
    groups: Sequence["Group"] = ()
    nullable: bool = False
    is_none: bool = False
    default_is_none: bool = False

    def below(self) -> Iterator["Group"]:
        """The groups in it, and those in them."""
        for group in self.groups:
            yield group
            yield from group.below()


@dataclass(frozen=True)
class Form:
    """Form of a spec.

    Attributes:
        skeleton: the spec of nothing but what decides which fields there are; ``form_of`` makes this form of it.
        choices: task, profile and, where the task takes one, method.
    """

    skeleton: Mapping[str, Any]
    choices: Sequence[Field]
    groups: Sequence[Group]

    @cached_property
    def all_groups(self) -> Sequence[Group]:
        return [one for group in self.groups for one in (group, *group.below())]

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """All of them, by name."""
        of_groups = (group.fields for group in self.all_groups)
        return {field.name: field for field in chain(self.choices, *of_groups)}

    @cached_property
    def names(self) -> Collection[str]:
        """The paths of all fields and groups."""
        return {*self.fields, *(group.name for group in self.all_groups)}


class _Chosen(NamedTuple):
    """Choices that decide the fields.

    Attributes:
        usual: the profile's spec; ``complete``: that of the chosen model, method and optimizer.
        written: what the user wrote.
    """

    task: type[Task]
    usual: Mapping[str, Any]
    complete: Mapping[str, Any]
    written: Mapping[str, Any]


def form_of(written: Mapping[str, Any]) -> Form:
    """The form for a spec, be it valid or not: what it names that is unknown counts as not named."""
    chosen = _chosen(written)
    groups = list(_groups(chosen))
    skeleton: dict[str, Any] = {}
    for tag in (TASK, PROFILE, *_known_tags(chosen.task)):
        if (value := at(chosen.complete, tag)) is not NOTHING:
            put(skeleton, tag, value)
    form = Form(skeleton, _choices(chosen), groups)
    for group in form.all_groups:
        if group.nullable:
            put(skeleton, group.name, None if group.is_none else {})
    return form


def _chosen(written: Mapping[str, Any]) -> _Chosen:
    name = at(written, TASK)
    task = TASKS[name if isinstance(name, str) and name in TASKS else FIRST_TASK]
    profile = at(written, PROFILE)
    known = isinstance(profile, str) and profile in task.profiles
    size = {"name": task.model_fields["name"].default, "profile": profile if known else DEFAULT_PROFILE}
    named: dict[str, Any] = {"task": size}
    for tag, choices in _known_tags(task).items():
        value = at(written, tag)
        if isinstance(value, str) and value in choices:
            put(named, tag, value)
    return _Chosen(task, completed(task, {"task": size}), completed(task, named), written)


def _known_tags(task: type[Task]) -> Mapping[str, Sequence[str]]:
    """Tags that a spec of this task may choose from, for each field that decides others."""
    tags: dict[str, Sequence[str]] = {}
    if task.model is not None and len(task.model.kinds()) > 1:
        tags[CELL] = list(task.model.kinds())
    if task.takes_norm:
        tags[METHOD] = list(METHODS)
    if issubclass(task, Benchmark):
        tags[OPTIMIZER] = list(Training.model_json_schema()["properties"]["optimizer"]["discriminator"]["mapping"])
    return tags


def _choices(chosen: _Chosen) -> Sequence[Field]:
    """Fields that decide others. They come first."""
    first = [
        Field(TASK, "select", FIRST_TASK, choices=list(TASKS)),
        Field(PROFILE, "choice", DEFAULT_PROFILE, choices=list(chosen.task.profiles)),
    ]
    if not chosen.task.takes_norm:
        return first
    fitting = descriptions.task(chosen.task.model_fields["name"].default).methods or sorted(METHODS)
    asked = at(chosen.complete, METHOD)
    also = [asked] if asked not in fitting else []
    return [*first, Field(METHOD, "select", at(chosen.usual, METHOD), choices=[*fitting, *also])]


def _groups(chosen: _Chosen) -> Iterator[Group]:
    """A group for what concerns all of a spec, and one for each of its parts that has something to choose."""
    task = chosen.task
    method = at(chosen.complete, METHOD)
    model = task.model.kind_of(chosen.complete.get("model", {})) if task.model else None
    parts: list[tuple[str, str, type[Part]]] = (
        [("norm", f"Method: {method}", METHODS[method])] if method is not NOTHING else []
    )
    parts += [("model", "Model", model)] if model else []
    parts += [("training", "Training", Training)] if issubclass(task, Benchmark) else []
    parts += [("task", "Task", task)]
    yield _object("", "Runs", ExperimentSpec.model_json_schema(), chosen, only=OF_RUNS)
    for name, title, part in parts:
        group = _object(name, title, part.model_json_schema(), chosen)
        if name == "model" and CELL in _known_tags(task):
            group = _with_tag(group, CELL, _known_tags(task)[CELL], chosen)
        if group.fields or group.groups:
            yield group


def _object(
    path: str,
    title: str,
    schema: Mapping[str, Any],
    chosen: _Chosen,
    definitions: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    **nullable: bool,
) -> Group:
    """The group of an object's schema at ``path``.

    Args:
        definitions: that the schema refers to; its own if None.
        only: take only these of its fields.
        nullable: attributes of a group that may be none.
    """
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    fields, groups = [], []
    for name, option in schema["properties"].items():
        if only and name not in only:
            continue
        inner_path = f"{path}.{name}" if path else name
        inner, may_be_none = _without_null(option, definitions)
        if "discriminator" in inner:
            groups.append(_union(inner_path, inner, definitions, chosen))
        elif "properties" in inner:
            default_is_none = at(chosen.complete, inner_path) in (None, NOTHING)
            asked = at(chosen.written, inner_path)
            is_none = default_is_none if asked is NOTHING else asked is None
            groups.append(
                _object(
                    inner_path,
                    name.replace("_", " ").capitalize(),
                    {**inner, "description": option.get("description", "")},
                    chosen,
                    definitions,
                    nullable=may_be_none,
                    is_none=is_none and may_be_none,
                    default_is_none=default_is_none,
                )
            )
        elif "const" not in inner and inner_path != PROFILE:
            fields.append(_field(inner_path, option, inner, may_be_none, chosen))
    return Group(path or "runs", title, schema.get("description", ""), fields, groups, **nullable)


def _union(path: str, union: Mapping[str, Any], definitions: Mapping[str, Any], chosen: _Chosen) -> Group:
    """The group of objects that a tag tells apart: the tag, and the fields of the chosen one."""
    tag, mapping = union["discriminator"]["propertyName"], union["discriminator"]["mapping"]
    named = at(chosen.complete, f"{path}.{tag}")
    schema = definitions[mapping[named].rpartition("/")[2]]
    group = _object(path, path.rpartition(".")[2].capitalize(), schema, chosen, definitions)
    return _with_tag(group, f"{path}.{tag}", list(mapping), chosen)


def _with_tag(group: Group, tag: str, choices: Sequence[str], chosen: _Chosen) -> Group:
    field = Field(tag, "choice" if len(choices) <= FEW else "select", at(chosen.usual, tag), choices=choices)
    return Group(group.name, group.title, group.help, [field, *group.fields], group.groups)


def _field(path: str, option: Mapping[str, Any], inner: Mapping[str, Any], nullable: bool, chosen: _Chosen) -> Field:
    default = at(chosen.complete, path)
    if default is NOTHING:
        default = option.get("default", NOTHING)
    kind, choices, items = _kind(inner)
    usual = list(default) if isinstance(default, tuple) else default
    return Field(path, kind, usual, option.get("description", ""), nullable, choices, items)


def _kind(schema: Mapping[str, Any]) -> tuple[Kind, Sequence[str], Kind]:
    """Kind of control for a value of this schema, its choices, and for a list the kind of its elements."""
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
    return all(isinstance(choice, str) for choice in schema["enum"]) if "enum" in schema else False


def _without_null(option: Mapping[str, Any], definitions: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The schema that an option has besides null, and whether null is allowed."""
    alternatives = option.get("anyOf", [option])
    others = [one for one in alternatives if one.get("type") != "null"]
    inner = others[0] if len(others) == 1 else {}
    resolved = definitions[inner["$ref"].rpartition("/")[2]] if "$ref" in inner else inner
    return resolved, len(others) < len(alternatives)
