"""Observations of runs and faults, on which the assessment is based."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.faults.scenario import Kind

ENDED = ("succeeded", "failed", "cancelled")
Rows = Mapping[tuple[str, int], float]  # (series, step) -> value


@dataclass(frozen=True, slots=True)
class Sample:
    """State of a run at one time. ``at`` is the time of the request, in seconds of the monotonic clock."""

    at: float
    run_id: str
    state: str
    attempt: int
    step: int
    resumed_from: int | None

    def shows_more_than(self, before: "Sample") -> bool:
        return replace(before, at=self.at) != self


def has_trained(sample: Sample, samples: Sequence[Sample]) -> bool:
    """Tell if the run was training when ``sample`` was taken, and its attempt had done a step of its own.

    After a claim the service still shows the last step of the attempt before. So the first step that is seen of an
    attempt does not count.

    Args:
        samples: all samples of the run.
    """
    claimed = next((s.step for s in samples if (s.state, s.attempt) == ("running", sample.attempt)), sample.step)
    return sample.state == "running" and sample.step != claimed and sample.step > (sample.resumed_from or 0)


@dataclass(frozen=True, slots=True)
class Injury:
    """Fault that has happened.

    Attributes:
        began, ended: times of the monotonic clock; equal for a fault that takes no time.
        hit: the runs that must go on, as last seen before the fault; for an outage, as last seen before its end.
        ends_attempt: True if a run that is hit can only go on in a new attempt.
    """

    kind: Kind
    began: float
    ended: float
    hit: tuple[Sample, ...]
    ends_attempt: bool


@dataclass(frozen=True, slots=True)
class UndisturbedTraining:
    """Training without faults: its measurements, and its result without the seconds."""

    rows: Rows
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunSeen:
    """Observations of one accepted run.

    Attributes:
        training: index of the same training without faults, in ``Seen.undisturbed``.
        final: the run as the API shows it in the end; None if the service no longer knows the run.
        later: the run as the API shows it some seconds after ``final``.
        attempts: attempts that wrote the measurements of each step, by step.
        cancelled_at: the run's attempt when a cancel was accepted; None if the run was not cancelled.
    """

    run_id: str
    training: int
    samples: Sequence[Sample]
    final: Mapping[str, Any] | None
    later: Mapping[str, Any] | None
    rows: Rows
    attempts: Mapping[int, frozenset[int]]
    cancelled_at: int | None = None


@dataclass(frozen=True, slots=True)
class BackendObservations:
    """Observations of one backend.

    Attributes:
        known: number of experiments that the service knows in the end.
        outage: word for how the artifact store was made to fail: full, or absent.
    """

    backend: str
    runs: Sequence[RunSeen]
    injuries: Sequence[Injury]
    undisturbed: Sequence[UndisturbedTraining]
    known: int
    outage: str
