"""Observations: the values that the verdict is based on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.faults.scenario import Kind

ENDED = ("succeeded", "failed", "cancelled")
Rows = Mapping[tuple[str, int], float]  # (series, step) -> value


@dataclass(frozen=True, slots=True)
class Sample:
    """A run at one moment; ``at`` is when it was asked for, in seconds of a clock that only runs forward."""

    at: float
    run_id: str
    state: str
    attempt: int
    step: int
    resumed_from: int | None

    def shows_more_than(self, before: "Sample") -> bool:
        return replace(before, at=self.at) != self


def has_trained(sample: Sample, samples: Sequence[Sample]) -> bool:
    """Tell if the attempt in training at that time had done a step, by ``samples``.

    Between its claim and its beginning the step of the attempt before is still shown: the first one seen says nothing.
    """
    claimed = next((s.step for s in samples if (s.state, s.attempt) == ("running", sample.attempt)), sample.step)
    return sample.state == "running" and sample.step != claimed and sample.step > (sample.resumed_from or 0)


@dataclass(frozen=True, slots=True)
class Injury:
    """A fault as it happened.

    Attributes:
        began, ended: alike for what takes no time.
        hit: the runs that must go on, as last seen before it, or for an outage before its end.
        ends_attempt: whether only a new attempt can go on.
    """

    kind: Kind
    began: float
    ended: float
    hit: tuple[Sample, ...]
    ends_attempt: bool


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """Undisturbed training: its rows, and its result without the seconds."""

    rows: Rows
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunSeen:
    """All that was seen of one accepted run.

    Attributes:
        training: which it is, among the undisturbed ones.
        final: the run as it stands in the end; None if the service no longer knows it.
        later: the same some seconds later.
        attempts: of its rows, by step; several if the rows of one step belong to several.
        cancelled_at: its attempt when a cancel was accepted; None if nobody cancelled it.
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
class Seen:
    """All that was seen of one backend.

    Attributes:
        known: how many experiments the service knows in the end.
        outage: how the artifact store was made to fail.
    """

    backend: str
    runs: Sequence[RunSeen]
    injuries: Sequence[Injury]
    undisturbed: Sequence[Undisturbed]
    known: int
    outage: str
