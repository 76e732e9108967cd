"""Messages between a worker and its training process. The worker sends a ``Job`` and ``Stored``; the training process
sends the others, and the events ``Measured`` and ``Analysed`` as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from normcore.events import Analysed, Measured, Outcome, Phase, Result, Started, Timing
from normcore.source_files import State
from service.experiments.analysis_model import Model
from service.experiments.machines import Start

NAMED_FILES = 3


@dataclass(frozen=True, slots=True)
class Job:
    """All that a training process needs to know.

    Attributes:
        started_attempt, resumed_from: see ``service.experiments.lifecycle.ClaimedRun``.
        model: see ``service.experiments.lifecycle.ClaimedRun``.
        no_kernels: reason why the training does not look for fused kernels; None if it may look.
        changed: files whose code changed since the worker's last training, which is why this process was restarted.
        memory: bytes that the process may take.
        log: file for everything that the process prints.
        digests: digests of source files that the worker has read already, so that the training need not read them.
    """

    run_id: str
    attempt: int
    seed: int
    spec: Mapping[str, Any]
    started_attempt: int
    resumed_from: int
    model: Model | None
    device: str
    no_kernels: str | None
    changed: tuple[str, ...]
    threads: int
    memory: int
    datasets_dir: Path
    artifacts_url: str
    checkpoint_seconds: float
    log: Path
    digests: Mapping[str, tuple[State, str]]


@dataclass(frozen=True, slots=True)
class Stored:
    """Message that all measurements up to ``step`` are in the database."""

    step: int


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Message that a training or an analysis has started. Its first update, or its first piece, is next.

    Attributes:
        resumed_from: the step of the checkpoint that the training resumes from; None without a checkpoint.
        measured: measurements in the checkpoint, which may not be in the database yet.
        notes: which checkpoints could not be used, and why.
    """

    started: Started
    resumed_from: int | None
    measured: tuple[Measured, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """Message with the progress of a training: updates, their seconds, and the phase of an evaluation."""

    step: int
    seconds: float
    phase: Phase | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """Message that a checkpoint of ``step`` is stored."""

    step: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Message that the training is complete and its artifacts are stored.

    Attributes:
        start: machine and code on which this attempt and earlier attempts began.
    """

    outcome: Outcome
    result: Result
    timing: Timing
    start: Start


@dataclass(frozen=True, slots=True)
class Stopped:
    """Message that the training stopped as asked, with a checkpoint at ``step``; None if it wrote no checkpoint."""

    step: int | None


@dataclass(frozen=True, slots=True)
class Troubled:
    """Message: a disk, the artifact store or a network does not work. A later attempt may succeed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Message that the training cannot go on; trying again would not help."""

    error: str


@dataclass(frozen=True, slots=True)
class CodeChanged:
    """Message that files were edited after the process imported them, so that it does not train.

    Attributes:
        files: paths of the files that changed, at least one.
    """

    files: tuple[str, ...]


def name_files(files: Sequence[str]) -> str:
    """Names of files as text, each with its folder. Of many files only the first are named."""
    shown = [str(PurePath(*PurePath(file).parts[-2:])) for file in files[:NAMED_FILES]]
    more = len(files) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


Message = RunStarted | Progress | Measured | Saved | RunFinished | Analysed | Stopped | Troubled | Failed | CodeChanged
