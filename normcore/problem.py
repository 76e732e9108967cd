"""Problem of a leaderboard: a task's own options, without those that decide what pictures show, and its data's
checksums. Torch-free.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from normcore.data.registry import DATASETS, checksums
from normcore.spec import TrainingSpec, digest, resolve
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark

ID_LENGTH = 16  # hexadecimal digits of the digest
LONGEST = 60  # characters of a value in a title


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem that the entries of one board share.

    Attributes:
        id: digest of the options and of the data.
        options: the task's options, but for its name and its profile.
    """

    id: str
    options: Mapping[str, Any]


def problem_of(task: Benchmark) -> Problem:
    """The problem that a task with these options is."""
    outside = {"profile", *task.shown_only}
    canonical = {name: value for name, value in task.canonical().items() if name not in outside}
    data = {name: sha256 for need in task.needs() for name, sha256 in checksums(need.dataset).items()}
    return Problem(
        digest({"task": canonical, "data": data})[:ID_LENGTH],
        task.model_dump(mode="json", exclude={"name", *outside}),
    )


@cache
def own_problem(task: str, profile: ProfileName) -> Problem:
    """The problem of a benchmark's profile, nothing changed."""
    return problem_of(_own(task, profile).task)


@cache
def own_budget(task: str, profile: ProfileName) -> int:
    """The examples that a training may see on the board of a benchmark's profile."""
    return _own(task, profile).budget


def title(options: Mapping[str, Any], own: Problem) -> str:
    """Title of a problem: its differences from the profile's own, in words, in the order of the task's options."""
    ordered = [*(name for name in own.options if name in options), *sorted(options.keys() - own.options.keys())]
    changed = [f"{name} {_shown(options[name])}" for name in ordered if own.options.get(name) != options[name]]
    return ", ".join(changed) or "the profile's own"


def note(task: str, options: Mapping[str, Any]) -> str | None:
    """Remark of the registry on a problem's data, if it is a part of a data set; else None.

    None also for stored options that the benchmark no longer takes: their board is shown all the same.
    """
    stored = stored_task(task, options)
    data = (DATASETS[need.dataset] for need in stored.needs()) if stored else ()
    return " ".join(dataset.description for dataset in data if dataset.part_of is not None) or None


def test_items(name: str, options: Mapping[str, Any]) -> int | None:
    """Number of test items that the ranking metric counts, as ``Benchmark.test_items`` says for stored options."""
    stored = stored_task(name, options)
    return stored.test_items(stored.metric().name) if stored else None


def stored_task(name: str, options: Mapping[str, Any]) -> Benchmark | None:
    """A benchmark with options that were stored; None for options that it no longer takes."""
    try:
        return BENCHMARKS[name].model_validate_json(json.dumps({**options, "name": name}))
    except ValidationError:
        return None


def _shown(value: Any) -> str:
    """A value as a spec has it, long ones such as digests cut."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:12]}…"


def _own(task: str, profile: ProfileName) -> TrainingSpec:
    spec = resolve({"task": {"name": task, "profile": profile}})
    assert isinstance(spec, TrainingSpec)
    return spec
