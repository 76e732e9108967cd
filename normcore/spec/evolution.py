"""Versions of specs, and the upgrade of stored specs."""

from collections.abc import Callable, Mapping
from typing import Any

SPEC_VERSION = 1
"""The newest version of specs. It goes up when a field is removed, or gets another meaning or another default. A new
field with a neutral default needs no new version, because fingerprints leave out default values."""

Stored = dict[str, Any]


def upgrade(stored: Mapping[str, Any]) -> Stored:
    """Upgrade a stored spec to the newest version. A spec of the newest version is returned unchanged.

    Raises:
        ValueError: the spec is of a later version, or its version is not a number from 0 on.
    """
    spec = dict(stored)
    version = spec.get("spec_version", 0)
    if not isinstance(version, int) or version < 0:
        raise ValueError(f"expected spec_version 0 to {SPEC_VERSION}, received {version!r}")
    if version > SPEC_VERSION:
        raise ValueError(
            f"the spec is of version {version}, but this normbench knows only versions up to {SPEC_VERSION};"
            " update normbench"
        )
    for step in UPGRADES[version:]:
        spec = step(spec)
    return {**spec, "spec_version": SPEC_VERSION}


def _from_0(spec: Stored) -> Stored:
    """Upgrade a spec of version 0. ``eval_chars`` becomes ``valid_chars`` and ``test_chars``; the sites of an analysis
    of invariances become ``layer``."""
    task, norm = spec.get("task"), spec.get("norm")
    if not isinstance(task, Mapping):  # not a spec; validation will say so
        return spec
    if "eval_chars" in task:
        characters = task["eval_chars"]
        rest = {name: value for name, value in task.items() if name != "eval_chars"}
        spec = {**spec, "task": {**rest, "valid_chars": characters, "test_chars": characters}}
    if task.get("name") == "invariances" and isinstance(norm, Mapping) and norm.get("sites"):
        cell = {"carry": "raw"} if "carry" in norm else {}  # a layer has no cell to carry on
        spec = {**spec, "norm": {**norm, **cell, "sites": ["layer"]}}
    return spec


UPGRADES: tuple[Callable[[Stored], Stored], ...] = (_from_0,)
"""Functions that upgrade a spec from each version to the next."""
