"""Assessment of the promises of the service, computed from observations by pure functions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.faults.observations import (
    ENDED,
    BackendObservations,
    Injury,
    Rows,
    RunSeen,
    Sample,
    UndisturbedTraining,
    has_trained,
)
from benchmarks.faults.scenario import Kind

SECONDS = ("train_seconds", "seconds_to_target")  # fields of a result that differ between equal trainings


@dataclass(frozen=True, slots=True)
class Wrong:
    """Numbers of measurements that differ from those of a training without faults."""

    missing: int = 0
    different: int = 0
    extra: int = 0

    def __add__(self, other: "Wrong") -> "Wrong":
        return Wrong(self.missing + other.missing, self.different + other.different, self.extra + other.extra)

    @property
    def total(self) -> int:
        return self.missing + self.different + self.extra


@dataclass(frozen=True, slots=True)
class Assessment:
    """Assessment of one backend. Lists have ids of runs, some with a reason."""

    accepted: int
    succeeded: int
    cancelled: int
    failed: Sequence[str]
    lost: Sequence[str]
    doubled: Sequence[str]
    wrong: Mapping[str, Wrong]
    results: Sequence[str]
    ran_on: Sequence[str]
    recoveries: Mapping[Kind, Sequence[float | None]]

    @property
    def rows_wrong(self) -> int:
        return sum(wrong.total for wrong in self.wrong.values())


def assess(seen: BackendObservations) -> Assessment:
    """Assess all observations of one backend."""
    states = [state_of(run) for run in seen.runs]
    wrong = {run.run_id: wrong_rows(run, seen.undisturbed[run.training]) for run in seen.runs}
    surplus = seen.known - len(seen.runs)
    return Assessment(
        accepted=len(seen.runs),
        succeeded=states.count("succeeded"),
        cancelled=states.count("cancelled"),
        failed=[f"{r.run_id}: {r.final['error']}" for r in seen.runs if r.final and state_of(r) == "failed"],
        lost=[f"{r.run_id}: {state_of(r)}" for r in seen.runs if state_of(r) not in ENDED],
        doubled=[
            *([f"{surplus} experiments that nobody posted"] if surplus > 0 else []),
            *(f"{run.run_id}: {what}" for run in seen.runs for what in doubled(run)),
        ],
        wrong={run_id: rows for run_id, rows in wrong.items() if rows.total},
        results=[r.run_id for r in seen.runs if not has_result_of(r, seen.undisturbed[r.training])],
        ran_on=[run.run_id for run in seen.runs if ran_on(run)],
        recoveries=recoveries(seen.injuries, {run.run_id: run.samples for run in seen.runs}),
    )


def state_of(run: RunSeen) -> str:
    return str(run.final["state"]) if run.final else "unknown to the service"


def doubled(run: RunSeen) -> Iterator[str]:
    """Yield signs that two attempts wrote to a run, or that the run ended twice."""
    if run.final is None:
        return
    if state_of(run) in ENDED and _end_of(run.final) != _end_of(run.later):
        yield "changed after its end"
    first_end = next((s for s in run.samples if s.state in ENDED), None)
    if first_end is not None and (first_end.state, first_end.attempt) != (run.final["state"], run.final["attempt"]):
        yield f"{first_end.state} in attempt {first_end.attempt} at first"
    if any(later.attempt < earlier.attempt for earlier, later in pairwise(run.samples)):
        yield "its attempt went back"
    for attempt in sorted({s.attempt for s in run.samples}):
        if _went_back([s for s in run.samples if s.attempt == attempt]) > 1:
            yield f"the progress of attempt {attempt} went back more than once"
    yield from _foreign_rows(run)


def _end_of(run: Mapping[str, Any] | None) -> tuple[Any, ...]:
    return tuple(run[name] for name in ("state", "attempt", "finished_at", "result")) if run else ()


def _went_back(samples: Sequence[Sample]) -> int:
    """Count how often the step of an attempt went back. Once is right: when the attempt begins at a checkpoint."""
    return sum(later.step < earlier.step for earlier, later in pairwise(samples))


def _foreign_rows(run: RunSeen) -> Iterator[str]:
    """Yield signs that an attempt wrote measurements after a newer attempt had begun."""
    assert run.final is not None
    if state_of(run) == "succeeded":
        began = run.final["resumed_from_step"] or 0
        foreign = [step for step, by in run.attempts.items() if step > began and by != {run.final["attempt"]}]
        if foreign:
            yield (
                f"attempt {run.final['attempt']} finished it from step {began} on, "
                f"but {len(foreign)} steps after that are others', first {min(foreign)}"
            )
    newest = 0
    for step, by in sorted(run.attempts.items()):
        if min(by) < newest:
            yield f"step {step} is attempt {min(by)}'s, though attempt {newest} had measured before it"
            return
        newest = max(by)


def wrong_rows(run: RunSeen, undisturbed: UndisturbedTraining) -> Wrong:
    """Count measurements of a run that differ from the training without faults.

    A run that did not succeed is compared up to its last measurement.
    """
    expected: Rows = undisturbed.rows
    if state_of(run) != "succeeded":
        last = max((step for _, step in run.rows), default=0)
        expected = {key: value for key, value in expected.items() if key[1] <= last}
    return Wrong(
        missing=len(expected.keys() - run.rows.keys()),
        different=sum(run.rows[key] != expected[key] for key in expected.keys() & run.rows.keys()),
        extra=len(run.rows.keys() - expected.keys()),
    )


def has_result_of(run: RunSeen, undisturbed: UndisturbedTraining) -> bool:
    """Tell if a succeeded run has the same result as the training without faults; True for other runs."""
    if run.final is None or state_of(run) != "succeeded":
        return True
    return without_seconds({**run.final["result"], "outcome": run.final["outcome"]}) == undisturbed.result


def without_seconds(result: Mapping[str, Any]) -> dict[str, Any]:
    """Result without its times, which differ between trainings of one spec and seed."""
    return {name: value for name, value in result.items() if name not in SECONDS}


def ran_on(run: RunSeen) -> bool:
    """Tell if the run went on after a cancel was accepted: in a new attempt, or to another end than cancelled.

    A run that succeeds in the attempt that was cancelled did not go on.
    """
    if run.cancelled_at is None or run.final is None:
        return False
    again = any(s.attempt > run.cancelled_at and s.state == "running" for s in run.samples)
    just_ended = state_of(run) == "succeeded" and run.final["attempt"] == run.cancelled_at
    return again or not (state_of(run) == "cancelled" or just_ended)


def recoveries(injuries: Sequence[Injury], samples: Mapping[str, Sequence[Sample]]) -> dict[Kind, list[float | None]]:
    """Seconds until each run that was hit went on, by kind of fault; None for a run that never did."""
    found: dict[Kind, list[float | None]] = {}
    for injury in injuries:
        found.setdefault(injury.kind, []).extend(
            recovery(injury, hit, samples[hit.run_id])
            for hit in injury.hit
            if not came_too_late(injury, hit, samples[hit.run_id])
        )
    return found


def came_too_late(injury: Injury, hit: Sample, samples: Sequence[Sample]) -> bool:
    """Tell if a kill hit a run that had already succeeded, although the watch had not yet seen so."""
    end = samples[-1]
    return (
        injury.ends_attempt and injury.kind != Kind.CANCEL and end.state == "succeeded" and end.attempt == hit.attempt
    )


def recovery(injury: Injury, hit: Sample, samples: Sequence[Sample]) -> float | None:
    """Seconds from a fault until a run that it hit was seen to train again or to have ended; None if never, or failed.

    The seconds of an outage or freeze count from its end. A run that another worker ended meanwhile recovers in 0 s.
    """
    if samples[-1].state in ENDED and samples[-1].at <= injury.ended:
        return 0.0 if samples[-1].state != "failed" else None
    for sample in samples:
        if sample.at <= injury.ended:
            continue
        if sample.state == "failed":
            return None
        goes_on = sample.step > hit.step and not injury.ends_attempt
        is_next = sample.attempt > hit.attempt and injury.kind != Kind.CANCEL and has_trained(sample, samples)
        if sample.state in ENDED or is_next or (goes_on and (sample.state, sample.attempt) == ("running", hit.attempt)):
            return sample.at - injury.ended
    return None
