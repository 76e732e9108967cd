"""Digests of a spec's own code: the sources of its method, its cell or model, its task and its optimizer.

The code of such a part is two modules: the module of its options and the module that implements it. A model that has
a cell inside has the two modules of the cell, too. The code of a plug-in is its whole package. This module does not
import torch.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from normcore.code_version import code_version
from normcore.source_files import Source, digest_of, source_of_module, sources_of_package
from normcore.spec import ExperimentSpec, TrainingSpec, digest
from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.models.model import Model
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
    """Describe the code of a run of this spec: version, commit, whether the source differs from the commit, and a
    digest for each of the spec's own parts."""
    of_project = code_version()
    return {
        "version": of_project.version,
        "commit": of_project.commit,
        "dirty": of_project.dirty,
        "parts": parts_of(spec),
    }


def parts_of(spec: ExperimentSpec) -> dict[str, str | None]:
    """Compute a digest of the code of each own part of a spec: norm, model, task, optimizer. None for a part whose
    sources cannot be found."""
    return {name: digest_of_part(registry, part) for name, registry, part in own_parts(spec)}


def present_code(spec: ExperimentSpec) -> str:
    """Compute one digest of the code that all own parts of a spec have now on this machine."""
    return digest(parts_of(spec))


def own_code(environment: Mapping[str, Any]) -> str | None:
    """Return the digest of the own code of a run, from the run's environment; None if the environment lacks it."""
    code = environment.get("code")
    return digest(code["parts"]) if code else None


def digest_of_part(registry: Registry[Any], part: Part | type[Part]) -> str | None:
    """Compute the digest of the modules of a class of options; None if no source is found."""
    sources = {source for module in _modules(registry, part) for source in _sources(module)}
    if not sources:
        return None
    whole = hashlib.sha256()
    for source in sorted(sources):
        whole.update(f"{source.name}\0{digest_of(source.path, source.state)}\n".encode())
    return whole.hexdigest()


def digests() -> dict[str, dict[str, str | None]]:
    """Compute the digest of each class that a spec can name, by part of the spec and by tag."""
    found: dict[str, dict[str, str | None]] = {name: {} for name in REGISTRIES}
    for name, registry, tag in list_option_classes():
        found[name][tag] = digest_of_part(registry, registry[tag])
    return found


def tags_of(spec: ExperimentSpec) -> dict[str, str]:
    """Return the tag of each part of a spec that comes in kinds: ``{"norm": "layer_norm", "model": "lstm", ...}``."""
    return {name: registry.tag_of(part) for name, registry, part in own_parts(spec)}


def find_last_change(spec: ExperimentSpec) -> float:
    """Find the time when a source file of the spec's own parts was last written here, in seconds since 1970."""
    modules = (module for _, registry, part in own_parts(spec) for module in _modules(registry, part))
    return max((source.state.ctime_ns for module in modules for source in _sources(module)), default=0) / 1e9


def list_option_classes() -> Iterator[tuple[str, Registry[Any], str]]:
    """Yield the part of a spec, the registry and the tag of each class of options that a spec can name."""
    for name, registries in REGISTRIES.items():
        for registry in registries:
            for tag in registry:
                yield name, registry, tag


def own_parts(spec: ExperimentSpec) -> Iterator[tuple[str, Registry[Any], Part]]:
    """Yield the parts of a spec that come in kinds: name of the part, its registry, and its options."""
    if spec.norm is not None:
        yield "norm", METHODS, spec.norm
    if spec.model is not None:
        yield "model", CELLS if isinstance(spec.model, RecurrentModel) else MODELS, spec.model
    yield "task", BENCHMARKS if spec.task.name in BENCHMARKS else ANALYSES, spec.task
    if isinstance(spec, TrainingSpec):
        yield "optimizer", OPTIMIZERS, spec.training.optimizer


def _modules(registry: Registry[Any], part: Part | type[Part]) -> tuple[str, ...]:
    """Name the module of a class of options and the module that implements the class. For a model that has a cell
    inside, name the modules of the cell as well."""
    kind = part if isinstance(part, type) else type(part)
    named = kind.__module__, registry.module_of(part)
    cell = kind.cell_kind() if issubclass(kind, Model) else None
    return named if cell in (None, kind) else named + _modules(CELLS, cell)


def _sources(module: str) -> list[Source]:
    is_ours = module.partition(".")[0] == PROJECT
    return source_of_module(module) if is_ours else sources_of_package(module)
