"""Problem of a leaderboard: the options of a task and the checksums of its data. Options that only change pictures are
left out. This module does not import torch.
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
    """Problem that all entries of one leaderboard share.

    Attributes:
        id: digest of the task's options and of its data.
        options: the task's options without its name, its profile, and options that only change pictures.
    """

    id: str
    options: Mapping[str, Any]


def problem_of(task: Benchmark) -> Problem:
    """Make the problem of a task with its options."""
    outside = {"profile", *task.shown_only}
    canonical = {name: value for name, value in task.canonical().items() if name not in outside}
    data = {name: sha256 for need in task.needs() for name, sha256 in checksums(need.dataset).items()}
    return Problem(
        digest({"task": canonical, "data": data})[:ID_LENGTH],
        task.model_dump(mode="json", exclude={"name", *outside}),
    )


@cache
def own_problem(task: str, profile: ProfileName) -> Problem:
    """Make the problem of a benchmark's profile, with all options unchanged."""
    return problem_of(_resolve_profile(task, profile).task)


@cache
def own_budget(task: str, profile: ProfileName) -> int:
    """Return the budget of a benchmark's profile: how many examples a training may see on its leaderboard."""
    return _resolve_profile(task, profile).budget


def title(options: Mapping[str, Any], own: Problem) -> str:
    """Write the title of a problem: the options that differ from the profile's own problem ``own``, in the order of the
    task's options."""
    ordered = [*(name for name in own.options if name in options), *sorted(options.keys() - own.options.keys())]
    changed = [f"{name} {_write_value(options[name])}" for name in ordered if own.options.get(name) != options[name]]
    return ", ".join(changed) or "the profile's own"


def note(task: str, options: Mapping[str, Any]) -> str | None:
    """Return the data registry's remark on a problem's data if the data are only a part of a data set; else None.

    For stored options that the benchmark no longer takes, the result is None, so that their board can still be shown.
    """
    stored = stored_task(task, options)
    data = (DATASETS[need.dataset] for need in stored.needs()) if stored else ()
    return " ".join(dataset.description for dataset in data if dataset.part_of is not None) or None


def test_items(name: str, options: Mapping[str, Any]) -> int | None:
    """Return the number of test items that a benchmark's ranking metric counts, for stored options of the benchmark.
    See ``Benchmark.test_items``."""
    stored = stored_task(name, options)
    return stored.test_items(stored.metric().name) if stored else None


def stored_task(name: str, options: Mapping[str, Any]) -> Benchmark | None:
    """Make a benchmark from stored options; None if the benchmark no longer takes these options."""
    try:
        return BENCHMARKS[name].model_validate_json(json.dumps({**options, "name": name}))
    except ValidationError:
        return None


def _write_value(value: Any) -> str:
    """Write a value as in a spec. Long values, such as digests, are cut."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:12]}…"


def _resolve_profile(task: str, profile: ProfileName) -> TrainingSpec:
    spec = resolve({"task": {"name": task, "profile": profile}})
    assert isinstance(spec, TrainingSpec)
    return spec
