"""Versions of specs: their changes, and the upgrade of stored ones."""

from collections.abc import Callable, Mapping
from typing import Any

SPEC_VERSION = 1
"""Goes up when a field goes, or gets another meaning or another default. A new field with a neutral default needs no
new version: fingerprints leave out what is at its default."""

Stored = dict[str, Any]


def upgrade(stored: Mapping[str, Any]) -> Stored:
    """A stored spec as today's version has it; one of today's is given back as it is.

    Raises:
        ValueError: it is of a later version, or of none.
    """
    spec = dict(stored)
    version = spec.get("spec_version", 0)
    if not isinstance(version, int) or version < 0:
        raise ValueError(f"expected spec_version 0 to {SPEC_VERSION}, received {version!r}")
    if version > SPEC_VERSION:
        raise ValueError(f"the spec is of version {version}, and this normbench knows {SPEC_VERSION}; update it")
    for step in UPGRADES[version:]:
        spec = step(spec)
    return {**spec, "spec_version": SPEC_VERSION}


def _from_0(spec: Stored) -> Stored:
    """One extent for validation and test text became two; a layer of units got a place of its own."""
    task, norm = spec.get("task"), spec.get("norm")
    if not isinstance(task, Mapping):  # it is no spec, which validation says
        return spec
    if "eval_chars" in task:
        characters = task["eval_chars"]
        rest = {name: value for name, value in task.items() if name != "eval_chars"}
        spec = {**spec, "task": {**rest, "valid_chars": characters, "test_chars": characters}}
    if task.get("name") == "invariances" and isinstance(norm, Mapping) and norm.get("sites"):
        cell = {"carry": "raw"} if "carry" in norm else {}  # of what a layer does not have
        spec = {**spec, "norm": {**norm, **cell, "sites": ["layer"]}}
    return spec


UPGRADES: tuple[Callable[[Stored], Stored], ...] = (_from_0,)
"""The step from each version to the next."""
