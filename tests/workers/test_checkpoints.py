"""Checkpoints: when they are written, kept and resumed from."""

from pathlib import Path

import pytest

from service.artifacts import Artifacts
from workers.checkpoints import Checkpoints, Past

NEW = Past(started_attempt=0, resumed_from=0)


@pytest.fixture
def store(tmp_path: Path) -> Artifacts:
    return Artifacts(str(tmp_path))


def checkpoints_of(store: Artifacts, attempt: int = 1, past: Past = NEW, every: float = 1e9) -> Checkpoints:
    return Checkpoints(store, "run_1", attempt, past, every)


def contents(checkpoints: Checkpoints) -> list[bytes]:
    return [content for _, content in checkpoints.newest_first()]


def test_the_first_checkpoint_is_due_after_the_first_measurement(store: Artifacts) -> None:
    checkpoints = checkpoints_of(store)
    assert not checkpoints.is_due(measured=False)
    assert checkpoints.is_due(measured=True)
    checkpoints.write(11, b"state")
    assert not checkpoints.is_due(measured=True)


def test_a_checkpoint_is_due_when_its_interval_is_over(store: Artifacts) -> None:
    assert checkpoints_of(store, every=1e-9).is_due(measured=False)


def test_the_newest_two_checkpoints_are_kept(store: Artifacts) -> None:
    checkpoints = checkpoints_of(store)
    for step in (9, 10, 100):
        checkpoints.write(step, str(step).encode())
    assert contents(checkpoints) == [b"100", b"10"]


def test_a_new_attempts_checkpoints_stay_though_an_earlier_one_got_further(store: Artifacts) -> None:
    earlier = checkpoints_of(store)
    for step in (400, 500):
        earlier.write(step, f"1 {step}".encode())
    later = checkpoints_of(store, attempt=2, past=Past(1, 0))
    for step in (100, 200):
        later.write(step, f"2 {step}".encode())
    assert contents(later) == [b"2 200", b"2 100"]


def test_an_attempt_that_lost_the_run_keeps_checkpoints_of_a_later_attempt(store: Artifacts) -> None:
    for step in (100, 200, 300):
        store.write("run_1", 2, f"checkpoint-{step:012d}.pt", f"2 {step}".encode())  # one is yet to be removed
    earlier = checkpoints_of(store)
    for step in (400, 500, 600):
        earlier.write(step, f"1 {step}".encode())
    assert contents(checkpoints_of(store, attempt=3, past=Past(2, 50))) == [b"2 300", b"2 200", b"2 100"]


@pytest.mark.parametrize(
    ("past", "usable"),
    [
        (Past(0, 0), [b"1 300", b"1 200"]),
        (Past(1, 0), [b"1 300", b"1 200"]),  # attempt 1 trained last: all that it measured is stored or in these
        (Past(2, 200), [b"1 200"]),  # attempt 2 went on from 200, and what was measured beyond that is undone
        (Past(2, 0), []),
    ],
)
def test_a_run_does_not_resume_from_a_checkpoint_with_undone_measurements(
    store: Artifacts, past: Past, usable: list[bytes]
) -> None:
    earlier = checkpoints_of(store)
    for step in (200, 300):
        earlier.write(step, f"1 {step}".encode())
    assert contents(checkpoints_of(store, attempt=3, past=past)) == usable


def test_checkpoints_of_another_run_are_not_found(store: Artifacts) -> None:
    Checkpoints(store, "run_2", 1, NEW, 1e9).write(1, b"theirs")
    assert contents(checkpoints_of(store)) == []
