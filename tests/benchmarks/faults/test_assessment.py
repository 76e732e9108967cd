"""The assessment on made-up values: correct runs pass, and each kind of fault is noticed."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.faults.assessment import Assessment, Wrong, assess, doubled, ran_on, recovery, wrong_rows
from benchmarks.faults.observations import BackendObservations, Injury, RunSeen, Sample, UndisturbedTraining
from benchmarks.faults.scenario import BRIEF, FULL, Kind, plan

ROWS = {("valid.loss", step): 1.0 / step for step in (10, 20, 30, 40)}
RESULT = {"value": 0.5, "step": 40, "outcome": "completed"}
UNDISTURBED = UndisturbedTraining(rows=ROWS, result=RESULT)


def sample(at: float, state: str, attempt: int, step: int, resumed_from: int | None = None) -> Sample:
    return Sample(at, "run_1", state, attempt, step, resumed_from)


def final(state: str = "succeeded", attempt: int = 2, resumed_from: int | None = 20) -> dict[str, Any]:
    return {
        "state": state,
        "attempt": attempt,
        "resumed_from_step": resumed_from,
        "finished_at": "2026-11-22T00:00:00Z",
        "outcome": "completed",
        "result": {"value": 0.5, "step": 40, "train_seconds": 3.2, "seconds_to_target": None},
        "error": None,
    }


GOOD = RunSeen(
    run_id="run_1",
    training=0,
    samples=[
        sample(1.0, "queued", 1, 0),
        sample(2.0, "running", 1, 25),
        sample(3.0, "queued", 2, 25),
        sample(4.0, "running", 2, 25),
        sample(5.0, "running", 2, 20, 20),
        sample(6.0, "running", 2, 22, 20),
        sample(7.0, "succeeded", 2, 40, 20),
    ],
    final=final(),
    later=final(),
    rows=ROWS,
    attempts={10: frozenset({1}), 20: frozenset({1}), 30: frozenset({2}), 40: frozenset({2})},
)


def assessment(*runs: RunSeen, known: int | None = None) -> Assessment:
    return assess(
        BackendObservations("up", runs, [], [UNDISTURBED], known=len(runs) if known is None else known, outage="full")
    )


def test_a_run_that_went_on_from_its_checkpoint_keeps_every_promise() -> None:
    found = assessment(GOOD)
    assert (found.accepted, found.succeeded, found.cancelled) == (1, 1, 0)
    assert [found.failed, found.lost, found.doubled, found.results, found.ran_on] == [[], [], [], [], []]
    assert found.rows_wrong == 0


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_run_that_never_ends_is_lost(state: str) -> None:
    assert assessment(replace(GOOD, final=final(state))).lost == [f"run_1: {state}"]


def test_a_run_that_the_service_has_forgotten_is_lost() -> None:
    assert assessment(replace(GOOD, final=None, later=None, rows={}, attempts={}), known=1).lost != []


def test_a_failed_run_is_failed_and_not_lost() -> None:
    found = assessment(replace(GOOD, final={**final("failed"), "error": "OSError"}))
    assert (found.failed, found.lost) == (["run_1: OSError"], [])


def test_an_experiment_that_was_not_posted_counts_as_doubled() -> None:
    assert assessment(GOOD, known=2).doubled == ["1 experiments that nobody posted"]


def test_a_missing_a_different_and_a_surplus_row_are_each_counted() -> None:
    rows = {**ROWS, ("valid.loss", 30): 0.1, ("valid.loss", 50): 0.1}
    del rows["valid.loss", 10]
    assert wrong_rows(replace(GOOD, rows=rows), UNDISTURBED) == Wrong(missing=1, different=1, extra=1)


def test_the_last_bit_of_a_value_counts() -> None:
    rows = {**ROWS, ("valid.loss", 30): ROWS["valid.loss", 30] + 1e-17}
    assert wrong_rows(replace(GOOD, rows=rows), UNDISTURBED).total == (rows != ROWS)
    rows["valid.loss", 30] = ROWS["valid.loss", 30] * (1 + 2**-52)
    assert wrong_rows(replace(GOOD, rows=rows), UNDISTURBED) == Wrong(different=1)


def test_a_cancelled_run_owes_the_rows_up_to_its_last_and_no_more() -> None:
    cancelled = replace(GOOD, final=final("cancelled"), rows={key: v for key, v in ROWS.items() if key[1] <= 20})
    assert wrong_rows(cancelled, UNDISTURBED) == Wrong()
    with_hole = replace(cancelled, rows={("valid.loss", 20): ROWS["valid.loss", 20]})
    assert wrong_rows(with_hole, UNDISTURBED) == Wrong(missing=1)


def test_a_result_counts_without_its_seconds() -> None:
    assert assessment(GOOD).results == []
    other = {**final(), "result": {**final()["result"], "value": 0.6}}
    assert assessment(replace(GOOD, final=other, later=other)).results == ["run_1"]


def test_a_run_that_changes_after_its_end_is_doubled() -> None:
    again = {**final(), "finished_at": "2026-11-22T00:00:02Z"}
    assert list(doubled(replace(GOOD, later=again))) == ["changed after its end"]


def test_a_run_that_ended_before_and_in_another_attempt_is_doubled() -> None:
    samples = [*GOOD.samples[:2], sample(2.5, "succeeded", 1, 40), *GOOD.samples[2:]]
    assert "succeeded in attempt 1 at first" in list(doubled(replace(GOOD, samples=samples)))


def test_rows_of_an_overtaken_attempt_after_the_next_ones_beginning_are_doubled() -> None:
    attempts = {**GOOD.attempts, 40: frozenset({1})}
    assert any("others'" in what for what in doubled(replace(GOOD, attempts=attempts)))


def test_rows_of_two_attempts_at_one_step_are_doubled() -> None:
    attempts = {**GOOD.attempts, 40: frozenset({1, 2})}
    assert list(doubled(replace(GOOD, attempts=attempts))) != []


def test_rows_of_an_older_attempt_after_a_newer_ones_are_doubled_however_it_ended() -> None:
    attempts = {10: frozenset({1}), 20: frozenset({2}), 30: frozenset({1})}
    run = replace(GOOD, final=final("cancelled"), later=final("cancelled"), samples=[], attempts=attempts)
    assert list(doubled(run)) == ["step 30 is attempt 1's, though attempt 2 had measured before it"]


def test_progress_that_goes_to_and_fro_is_doubled() -> None:
    samples = [*GOOD.samples[:6], sample(6.2, "running", 2, 30, 20), sample(6.4, "running", 2, 23, 20), GOOD.samples[6]]
    assert list(doubled(replace(GOOD, samples=samples))) == ["the progress of attempt 2 went back more than once"]


@pytest.mark.parametrize(
    ("state", "attempt", "expected"),
    [("cancelled", 1, False), ("succeeded", 1, False), ("succeeded", 2, True), ("running", 1, True)],
)
def test_a_cancelled_run_ends_or_had_just_succeeded(state: str, attempt: int, expected: bool) -> None:
    run = replace(GOOD, samples=GOOD.samples[:2], final=final(state, attempt), cancelled_at=1)
    assert ran_on(run) is expected


def test_a_cancelled_run_that_trains_again_ran_on_though_it_is_cancelled_later() -> None:
    assert ran_on(replace(GOOD, final=final("cancelled"), cancelled_at=1))
    assert not ran_on(replace(GOOD, final=final("cancelled"), cancelled_at=2))


def injury(kind: Kind = Kind.WORKER, *, ends_attempt: bool = True) -> Injury:
    return Injury(kind, 2.5, 2.5, (sample(2.4, "running", 1, 25),), ends_attempt)


def test_recovery_counts_until_the_next_attempts_first_step() -> None:
    [hit] = injury().hit
    assert recovery(injury(), hit, GOOD.samples) == 3.5  # at 6.0, not at the claim (4.0) or the beginning (5.0)
    assert recovery(injury(), hit, GOOD.samples[:5]) is None


def test_recovery_of_a_killed_attempt_is_not_its_own_late_step() -> None:
    claimed = [sample(3.0, "queued", 2, 26), sample(4.0, "running", 2, 26)]
    late = [*GOOD.samples[:2], sample(2.6, "running", 1, 26), *claimed, *GOOD.samples[4:]]
    [hit] = injury().hit
    assert recovery(injury(), hit, late) == 3.5
    assert recovery(injury(ends_attempt=False), hit, late) == pytest.approx(0.1)


def test_steps_that_were_reported_only_when_the_attempt_was_lost_are_no_recovery() -> None:
    [hit] = injury().hit
    claimed = [*GOOD.samples[:2], sample(2.6, "running", 2, 29)]  # the run had left the queue before the first sample
    assert recovery(injury(), hit, claimed) is None
    assert (
        recovery(injury(), hit, [*claimed, sample(3.0, "running", 2, 20, 20), sample(4.0, "running", 2, 21, 20)]) == 1.5
    )


def test_a_run_that_failed_has_not_recovered() -> None:
    [hit] = injury().hit
    assert recovery(injury(), hit, [*GOOD.samples[:3], sample(4.0, "failed", 2, 25)]) is None
    assert recovery(injury(), hit, [*GOOD.samples[:3], sample(4.0, "succeeded", 2, 40)]) == 1.5


@pytest.mark.parametrize(("state", "expected"), [("succeeded", 0.0), ("cancelled", 0.0), ("failed", None)])
def test_a_run_that_another_worker_ended_during_the_outage_is_recovered_at_its_end(
    state: str, expected: float | None
) -> None:
    hit, freeze = sample(2.0, "running", 1, 20), replace(injury(), kind=Kind.FROZEN, ended=9.0)
    assert recovery(freeze, hit, [*GOOD.samples[:3], sample(4.0, state, 2, 40)]) == expected


def test_a_kill_that_met_a_run_which_had_ended_is_no_recovery() -> None:
    ended = replace(GOOD, samples=[GOOD.samples[1], sample(2.6, "succeeded", 1, 40)], final=final(attempt=1))
    seen = BackendObservations("up", [ended], [injury()], [UNDISTURBED], known=1, outage="full")
    assert assess(seen).recoveries == {Kind.WORKER: []}
    seen = replace(seen, runs=[GOOD])
    assert assess(seen).recoveries == {Kind.WORKER: [3.5]}


def test_the_plan_is_the_seeds_and_has_what_was_asked_for() -> None:
    for size, times in ((FULL, 100), (BRIEF, 8)):
        for faults in size.faults.values():
            drawn = plan(faults, seed=1)
            assert len(drawn) == times
            assert {kind: sum(f.kind == kind for f in drawn) for kind in faults} == dict(faults)
            assert drawn == plan(faults, seed=1)
            assert drawn != plan(faults, seed=2)
