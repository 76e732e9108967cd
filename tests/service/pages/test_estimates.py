"""Estimate of an experiment, in words."""

from typing import Any

import pytest

from service.experiments.examples import PLAN
from service.pages.estimates import estimate
from service.workload.backlog import Backlog

BUSY = Backlog("auto", queued=3, running=1, oldest_seconds=9.0, workers=1, expected_wait_seconds=125.0)


def said(backlog: Backlog = BUSY, **changes: Any) -> Any:
    return estimate(PLAN.model_copy(update=changes), backlog)


def test_hours_go_from_low_to_high_and_say_what_they_are_based_on() -> None:
    found = said(runs=3, total_seconds_range=(5400.0, 9000.0), basis="measured: 3 runs of this spec on cpu")
    assert found.claim == "3 runs, 1 h 30 min to 2 h 30 min"
    assert found.basis == "Measured: 3 runs of this spec on cpu; fastest to slowest; one run after the other."
    alone = said(runs=1, total_seconds_range=(4.0, 4.0), basis="measured: 1 run of this spec on cpu")
    assert (alone.claim, alone.basis) == ("1 run, about 4.0 s", "Measured: 1 run of this spec on cpu.")


def test_an_unknown_duration_is_called_unknown() -> None:
    found = said(runs=2, total_seconds_range=None, basis=None)
    assert found.claim == "2 runs; how long is not known yet"
    assert found.basis == "No similar run was measured on this service."


@pytest.mark.parametrize(
    ("workers", "wait", "place", "words"),
    [
        (0, None, 1, "Next in the queue; no worker takes runs of the device auto now."),
        (1, None, 2, "Place 2 in the queue; the wait is not known yet."),
        (1, 0.0, 1, "A worker is free: it begins at once."),
        (1, 125.0, 4, "Place 4 in the queue: begins in about 2 min 5 s."),
    ],
)
def test_the_wait_is_that_of_the_queue(workers: int, wait: float | None, place: int, words: str) -> None:
    backlog = Backlog("auto", 3, 1, 9.0, workers, wait)
    assert said(backlog, queue_position=place).wait == words


def test_seeds_that_are_measured_are_named() -> None:
    assert said(runs=3, measured_seeds=[]).measured == ""
    assert said(runs=3, measured_seeds=[1]).measured == "Seed 1 is measured here already."
    assert said(runs=3, measured_seeds=[0, 1]).measured == "Seeds 0 and 1 are measured here already."
    assert said(runs=1, measured_seeds=[0]).measured.startswith("All these seeds are measured here already")


def test_workers_with_other_code_are_named() -> None:
    code = PLAN.code.model_copy(update={"workers": []})
    assert said(code=code).code == ""
    assert said().code == (
        "node-4 (process 4711) has other code for norm than the API. Runs on these workers would use that other code."
    )


@pytest.mark.parametrize(
    ("needed", "there_is", "workers", "words"),
    [
        (None, None, 0, ""),
        (209_715_200, None, 0, "Memory: a run needs at least 209.7 MB; there is no live worker to compare with."),
        (
            209_715_200,
            None,
            3,
            "Memory: a run needs at least 209.7 MB; it fits on 2 of 3 workers (not every worker says what it has).",
        ),
        (
            209_715_200,
            16_000_000_000,
            3,
            "Memory: a run needs at least 209.7 MB; it fits on 2 of 3 workers, of which the largest gives it 16.0 GB.",
        ),
    ],
)
def test_the_memory_needed_is_shown_with_the_memory_available(
    needed: int | None, there_is: int | None, workers: int, words: str
) -> None:
    found = said(memory_bytes=needed, worker_memory_bytes=there_is, live_workers=workers, fitting_workers=workers and 2)
    assert found.memory == words
