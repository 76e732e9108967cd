"""What a worker and its training process tell each other: a job down; these, and the events
``Measured`` and ``Analysed``, up."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normcore.events import Analysed, Measured, Outcome, Result, Started


@dataclass(frozen=True, slots=True)
class Job:
    """All that a training process needs to know."""

    run_id: str
    seed: int
    spec: Mapping[str, Any]
    device: str
    threads: int
    datasets_dir: Path
    artifacts_url: str
    checkpoint_seconds: float


@dataclass(frozen=True, slots=True)
class Began:
    """Training begins. ``notes`` say which checkpoints could not be used, and why."""

    started: Started
    resumed_from: int | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """So many updates are done, in so many training seconds."""

    step: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The training is complete and its artifacts are stored."""

    outcome: Outcome
    result: Result


@dataclass(frozen=True, slots=True)
class Stopped:
    """The training stopped as asked, with a checkpoint at this step, or none before the first."""

    step: int | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The training cannot go on; trying again would not help."""

    error: str


Message = Began | Progress | Measured | Ended | Analysed | Stopped | Failed
