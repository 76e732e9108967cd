"""Digests of a spec's own parts: of the sources that its tags name. Torch-free.

A method, a cell, a model, an optimizer or a task is the module of its options and the module that implements it; one
from a package of somebody's own is all of that package.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from normcore.code_version import code_version
from normcore.source_files import Source, State, code_in, digest_of, source_of_module, sources_of_package
from normcore.spec import ExperimentSpec, TrainingSpec, digest
from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.part import Part
from normcore.spec.registry import Registry
from normcore.spec.tasks import BENCHMARKS

PROJECT = "normcore"
REGISTRIES: Mapping[str, Sequence[Registry[Any]]] = {
    "norm": (METHODS,),
    "model": (CELLS, MODELS),
    "task": (BENCHMARKS, ANALYSES),
    "optimizer": (OPTIMIZERS,),
}


def code_of(spec: ExperimentSpec) -> dict[str, Any]:
    """The code that a run of this spec has: version, commit, whether the source differs from the commit, and digests of
    the spec's own parts."""
    of_project = code_version()
    return {
        "version": of_project.version,
        "commit": of_project.commit,
        "dirty": of_project.dirty,
        "parts": parts_of(spec),
    }


def parts_of(spec: ExperimentSpec) -> dict[str, str | None]:
    """A digest for each part of the spec that comes in kinds; None for one whose sources cannot be found."""
    return {name: digest_of_part(registry, part) for name, registry, part in _own_parts(spec)}


def present_code(spec: ExperimentSpec) -> str:
    """One digest for all parts of a spec, as they lie on this machine."""
    return digest(parts_of(spec))


def own_code(environment: Mapping[str, Any]) -> str | None:
    """The digest of the parts that a run had, from its environment; None if it does not tell them."""
    code = environment.get("code")
    return digest(code["parts"]) if code else None


def digest_of_part(registry: Registry[Any], part: Part | type[Part]) -> str | None:
    """The digest of a class of options and of the module that implements it."""
    sources = {source for module in _modules(registry, part) for source in _sources(module)}
    if not sources:
        return None
    whole = hashlib.sha256()
    for source in sorted(sources):
        whole.update(f"{source.name}\0{digest_of(source.path, source.state)}\n".encode())
    return whole.hexdigest()


def digests() -> dict[str, dict[str, str | None]]:
    """The digest of each class of options that a spec can name, by part and tag."""
    found: dict[str, dict[str, str | None]] = {name: {} for name in REGISTRIES}
    for name, registry, tag in registered():
        found[name][tag] = digest_of_part(registry, registry[tag])
    return found


def tags_of(spec: ExperimentSpec) -> dict[str, str]:
    """The tags of a spec's own parts."""
    return {name: registry.tag_of(part) for name, registry, part in _own_parts(spec)}


def changed_at(spec: ExperimentSpec) -> float:
    """Time of the last change to a source of the spec's own parts, in seconds since 1970."""
    modules = (module for _, registry, part in _own_parts(spec) for module in _modules(registry, part))
    return max((source.state.mtime_ns for module in modules for source in _sources(module)), default=0) / 1e9


class LoadedOptions:
    """The modules of options as this process has imported them."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[State, bytes]] = {}
        for _, registry, tag in registered():
            for source in _of_options(registry[tag]):
                self._files[source.path] = source.state, Path(source.path).read_bytes()

    def edited(self, spec: ExperimentSpec) -> dict[str, str]:
        """Names of the files of options that were edited since then, by part of the spec."""
        found = {}
        for name, _, part in _own_parts(spec):
            for source in _of_options(type(part)):
                state, content = self._files.get(source.path, (source.state, b""))
                if state != source.state and code_in(content) != code_in(Path(source.path).read_bytes()):
                    found[name] = source.name
        return found


def _of_options(kind: type[Part]) -> Iterator[Source]:
    """The module of a class of options, and those of the classes that it derives from."""
    for module in dict.fromkeys(base.__module__ for base in kind.__mro__ if issubclass(base, Part)):
        yield from source_of_module(module)


def registered() -> Iterator[tuple[str, Registry[Any], str]]:
    """Each class of options that a spec can name: the part of a spec that it is, its registry and its tag."""
    for name, registries in REGISTRIES.items():
        for registry in registries:
            for tag in registry:
                yield name, registry, tag


def _own_parts(spec: ExperimentSpec) -> Iterator[tuple[str, Registry[Any], Part]]:
    if spec.norm is not None:
        yield "norm", METHODS, spec.norm
    if spec.model is not None:
        yield "model", CELLS if isinstance(spec.model, RecurrentModel) else MODELS, spec.model
    yield "task", BENCHMARKS if spec.task.name in BENCHMARKS else ANALYSES, spec.task
    if isinstance(spec, TrainingSpec):
        yield "optimizer", OPTIMIZERS, spec.training.optimizer


def _modules(registry: Registry[Any], part: Part | type[Part]) -> tuple[str, str]:
    """The module of a class of options, and the one that implements it."""
    kind = part if isinstance(part, type) else type(part)
    return kind.__module__, registry.module_of(part)


def _sources(module: str) -> list[Source]:
    is_ours = module.partition(".")[0] == PROJECT
    return source_of_module(module) if is_ours else sources_of_package(module)
