"""Draft of a sweep: the body as it was posted, and the fields that its names may mean."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, get_args

from pydantic import BaseModel

from normcore.spec.messages import same_name
from normcore.spec.resolve import TASKS, part_classes
from normcore.spec.spelling import CHOICES, choices_with, is_another_tag
from normcore.spec.unknown_fields import EPOCHS
from normcore.spec.wrong_values import PartClasses, takes

TAGS = ("task.name", "model.cell", "norm.method")  # fields that choose which other fields there are
MAX_TRIED = 20  # values of each tag that are tried


class SweepDraft:
    """Body of a sweep, which may be wrong. The parts of its specs, and what its names mean, are found only once,
    because a sweep may have many errors."""

    def __init__(self, body: Any) -> None:
        self.body = mapping(body)
        self.dotted_names: dict[tuple[str, str], str | None] = {}
        """Advice on objects that stand for a part, by axis and name; None if the name is a field."""
        self._paths: dict[str, str | None] = {}
        self._having: dict[tuple[str, ...], Sequence[PartClasses]] = {}
        self._names: dict[tuple[str, type[BaseModel]], str | None] = {}

    @cached_property
    def own_parts(self) -> PartClasses:
        """Class of each part of the sweep's spec, by path."""
        return part_classes(mapping(self.body.get("spec")))

    @cached_property
    def parts(self) -> list[PartClasses]:
        """Classes of the parts of each spec of the sweep. Specs with the same parts are listed once."""
        found = {frozenset(parts.items()): parts for parts in map(part_classes, _specs(self.body))}
        return [*found.values()]

    def path_of(self, path: str) -> str | None:
        """Find the dotted name of the field that ``path`` may mean, as ``training.optimizer.lr`` for ``lr``; None if no
        field has such a name."""
        if path not in self._paths:
            self._paths[path] = self._find_path(path)
        return self._paths[path]

    def is_whole(self, path: str) -> bool | None:
        """Tell if the field of this dotted name takes only whole numbers; None if no part has the field."""
        steps = tuple(path.split("."))
        parts = next(iter(self._find_parts(steps)), None)
        if parts is None:
            return None
        found = parts[steps[:-1]].model_fields[steps[-1]]
        return int in (found.annotation, *get_args(found.annotation)) and float not in get_args(found.annotation)

    def takes(self, path: str, value: Any) -> bool:
        """Tell if the field of this dotted name takes a value in one of the specs, or is not known."""
        steps = tuple(path.split("."))
        if path == "task.name":
            return isinstance(value, str) and value in TASKS
        parts = self._find_parts(steps)
        return not parts or any(takes(steps, value, one) for one in parts)

    def _find_parts(self, steps: tuple[str, ...]) -> Sequence[PartClasses]:
        """Find the classes that have a field, each as the parts of a spec. If no spec has the field, a choice of its
        part may have it: ``eps`` without a method."""
        if steps not in self._having:
            above, name = steps[:-1], steps[-1]
            kinds = {parts[above] for parts in self.parts if above in parts}
            known = CHOICES.get(above[-1], ("", ()))[1] if above else ()
            others = known.values() if isinstance(known, Mapping) else ()
            having = [kind for kind in kinds if name in kind.model_fields]
            having = having or [kind for kind in others if name in kind.model_fields]
            self._having[steps] = [{above: kind} for kind in having]
        return self._having[steps]

    def _find_path(self, path: str) -> str | None:
        *above, name = path.split(".")
        if name in EPOCHS:
            return None
        if above and tuple(above) not in self.own_parts:  # optimizer.lr stands for training.optimizer.lr
            above = next(([*map(str, part)] for part in self.own_parts if part and part[-1] == above[-1]), above)
        if is_another_tag(path.split(".")):
            return ".".join([*above, CHOICES[above[-1]][0]])
        names = choices_with(above[-1], name).values() if above else ()
        if names:
            return ".".join([*above, name if name in names else next(iter(names))])
        for parts in self.parts:
            part = parts.get(tuple(above))
            own = self._same_name(name, part) if part is not None else None
            if above and own is not None:
                return ".".join([*above, own])
            if part is not None and name in part.model_fields:
                return path
            found = self._find_elsewhere(name, tuple(above), parts)
            if found is not None:
                return found
        having = ((part, choices_with(str(part[-1]), name)) for part in self.own_parts if part)
        return next((".".join([*map(str, part), *list(names.values())[:1]]) for part, names in having if names), None)

    def _find_elsewhere(self, name: str, above: tuple[str, ...], parts: PartClasses) -> str | None:
        """Find the dotted name of a field of this name in another part than ``above``; None if there is no such
        field."""
        for path, part in parts.items():
            found = self._same_name(name, part) if path and path != above else None
            if found is not None:
                return ".".join(map(str, (*path, found)))
        return None

    def _same_name(self, name: str, part: type[BaseModel]) -> str | None:
        """Find the field of a part that has the same name, or a name with the same meaning."""
        if (name, part) not in self._names:
            self._names[name, part] = same_name(name, part.model_fields)
        return self._names[name, part]


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def _specs(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the sweep's spec with each value that the grid has for a tag; the spec alone comes last."""
    spec, grid = mapping(body.get("spec")), mapping(body.get("grid"))
    for tag in TAGS:
        part, field = tag.split(".")
        values = grid.get(tag)
        for value in islice(values, MAX_TRIED) if isinstance(values, list) else ():
            yield {**spec, part: {**mapping(spec.get(part)), field: value}}
    yield spec
