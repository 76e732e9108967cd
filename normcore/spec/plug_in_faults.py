"""Blame for errors in plug-ins: the parts that other packages bring, and the part that raised an error."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from traceback import walk_tb
from typing import Any, NamedTuple

from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.errors import InvalidSpec, SpecError
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.plug_ins import in_words
from normcore.spec.tasks import BENCHMARKS

REGISTRIES: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("task", "name"), BENCHMARKS),
    (("task", "name"), ANALYSES),
    (("norm", "method"), METHODS),
    (("model", "cell"), CELLS),
    (("training", "optimizer", "name"), OPTIMIZERS),
)
"""Where a spec names a class, and the registry that has it."""


class Brought(NamedTuple):
    """A part of a spec that another package brings."""

    loc: tuple[str, ...]
    tag: str
    package: str
    module: str


@contextmanager
def blamed(written: Mapping[str, Any]) -> Iterator[None]:
    """Turn an error that a plug-in raises in the block into an error of its part of the spec.

    Raises:
        InvalidSpec: instead of that. An error where no other package has a part is ours, and raised as it is.
    """
    try:
        yield
    except InvalidSpec:
        raise
    except (Exception, SystemExit) as error:
        part = _at_fault(error, list(brought(written)))
        if part is None:
            raise
        failed = f"{part.tag}, of {part.package}, failed with these options: {in_words(error)}"
        told = f"{failed}; choose others, or have the package mended"
        raise InvalidSpec([SpecError(part.loc, told, "package_failed")]) from error


def brought(written: Mapping[str, Any]) -> Iterator[Brought]:
    """The parts that come from other packages."""
    for path, registry in _with_plug_ins():
        tag = _at(written, path)
        if isinstance(tag, str) and tag not in registry.ours and tag in registry:
            package = registry.origin(tag) or "an unknown package"
            yield Brought(path[:-1], tag, package, registry[tag].__module__)


@cache
def _with_plug_ins() -> tuple[tuple[tuple[str, ...], Any], ...]:
    """Registries that have plug-ins. Mostly there are none, and every submitted spec asks."""
    return tuple((path, registry) for path, registry in REGISTRIES if len(registry) > len(registry.ours))


def _at(written: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        written = written.get(name) if isinstance(written, Mapping) else None
    return written


def _at_fault(error: BaseException, parts: list[Brought]) -> Brought | None:
    """The part whose module or package the error comes from; where none is on the way, the only part."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    for of in (str, _package):
        for module in reversed(modules):
            for part in parts:
                if of(part.module) == of(module):
                    return part
    return parts[0] if len(parts) == 1 else None


def _package(module: str) -> str:
    return module.partition(".")[0]
