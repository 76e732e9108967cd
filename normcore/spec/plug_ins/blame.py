"""Search for the plug-in that caused an error: the parts of a spec that other packages bring."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.errors import InvalidSpec, SpecError
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.plug_ins.errors import in_words
from normcore.spec.tasks import BENCHMARKS

REGISTRIES: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("task", "name"), BENCHMARKS),
    (("task", "name"), ANALYSES),
    (("norm", "method"), METHODS),
    (("model", "cell"), CELLS),
    (("training", "optimizer", "name"), OPTIMIZERS),
)
"""Fields of a spec that name a class, each with the registry of the class."""


class Brought(NamedTuple):
    """Part of a spec that another package brings: its path, its tag, and the package."""

    loc: tuple[str, ...]
    tag: str
    package: str


@contextmanager
def blame_plug_ins(written: Mapping[str, Any]) -> Iterator[None]:
    """Turn an error in the ``with`` block into an error of the spec that names the spec's plug-ins.

    Raises:
        InvalidSpec: the block failed and the spec has plug-ins. Without plug-ins the fault is ours, and the error is
            raised unchanged.
    """
    try:
        yield
    except InvalidSpec:
        raise
    except (Exception, SystemExit) as error:
        parts = list(list_plug_in_parts(written))
        if not parts:
            raise
        named = " or ".join(f"{part.tag}, of {part.package}," for part in parts)
        told = f"{named} failed with these options: {in_words(error)}; choose others, or report it to the package"
        raise InvalidSpec([SpecError(parts[0].loc, told, "package_failed")]) from error


def list_plug_in_parts(written: Mapping[str, Any]) -> Iterator[Brought]:
    """Yield the parts of a spec that come from other packages."""
    for path, registry in _with_plug_ins():
        tag = _at(written, path)
        if isinstance(tag, str) and tag not in registry.ours and tag in registry:
            yield Brought(path[:-1], tag, registry.origin(tag) or "an unknown package")


@cache
def _with_plug_ins() -> tuple[tuple[tuple[str, ...], Any], ...]:
    """Return the entries of ``REGISTRIES`` that have plug-ins. The result is cached, because every submitted spec asks
    for it."""
    return tuple((path, registry) for path, registry in REGISTRIES if len(registry) > len(registry.ours))


def _at(written: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        written = written.get(name) if isinstance(written, Mapping) else None
    return written
