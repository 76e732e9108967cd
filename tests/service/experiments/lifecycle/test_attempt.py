"""Storage of an attempt: measurements, its lease, its end."""

import pytest

from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle import Lease
from tests.service.experiments.lifecycle.verbs import database_time, released, taken_back
from tests.service.sample_runs import begun, claimed, finished, measured, recorded, rows_of, run_of, started, submitted


def test_recording_the_same_batch_again_changes_nothing(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    batch = [measured(5, valid__accuracy=0.1, valid__loss=2.0), measured(10, valid__accuracy=0.3, valid__loss=1.5)]
    recorded(db, lease, *batch)
    once = rows_of(db, lease.run_id)
    assert once == [
        (5, "valid.accuracy", 0.1, 2.5, 1),
        (5, "valid.loss", 2.0, 2.5, 1),
        (10, "valid.accuracy", 0.3, 5.0, 1),
        (10, "valid.loss", 1.5, 5.0, 1),
    ]
    recorded(db, lease, *batch)
    assert rows_of(db, lease.run_id) == once
    run = run_of(db, lease.run_id)
    assert (run.step, run.seconds, run.steps_per_second) == (10, 5.0, 10.0)


def test_a_later_attempts_measurement_takes_the_place_of_an_earlier_attempts(db: Database) -> None:
    submitted(db)
    first = claimed(db).lease
    recorded(db, first, measured(5, valid__loss=2.0))
    released(db, first)
    second = claimed(db).lease
    recorded(db, second, measured(5, valid__loss=2.5))
    assert rows_of(db, first.run_id) == [(5, "valid.loss", 2.5, 2.5, 2)]


def test_beginning_at_a_checkpoint_undoes_what_was_measured_after_it(db: Database) -> None:
    submitted(db)
    first = claimed(db).lease
    begun(db, first)
    recorded(db, first, measured(5), measured(10), measured(15))
    released(db, first)
    second = claimed(db).lease
    with db.transaction() as session:
        lifecycle.start(session, second, started(10), device="cuda:0", resumed_from=10, notes=["a torn checkpoint"])
    assert [(row[0], row[4]) for row in rows_of(db, first.run_id)] == [(5, 1), (10, 1)]
    run = run_of(db, first.run_id)
    assert (run.step, run.resumed_from_step, run.device, run.kernel) == (10, 10, "cuda:0", "reference")
    assert run.environment == {"torch": "2.9"}
    assert [(entry["attempt"], entry["reason"]) for entry in run.history] == [
        (1, "its worker stopped"),
        (2, "a torn checkpoint"),
    ]


def test_beginning_stores_what_the_checkpoint_brought_along(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    brought = [measured(10, loss=1.0), measured(20, loss=0.5)]
    with db.transaction() as session:
        lifecycle.start(session, lease, started(20), device="cpu", resumed_from=20, measured=brought)
    assert [(step, value) for step, _, value, *_ in rows_of(db, lease.run_id)] == [(10, 1.0), (20, 0.5)]


def test_recording_renews_the_lease(db: Database) -> None:
    submitted(db)
    nearly_gone = claimed(db, lease_seconds=-1).lease
    recorded(db, Lease(nearly_gone.run_id, nearly_gone.attempt, 60.0))
    assert taken_back(db) == []
    assert run_of(db, nearly_gone.run_id).lease_expires_at == pytest.approx(database_time(db) + 60, abs=20)


def test_a_run_that_ends_keeps_its_result_and_has_no_lease(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    finished(db, lease, "diverged", value=None, valid_value=None, step=None)
    run = run_of(db, lease.run_id)
    assert (run.state, run.outcome, run.value) == ("succeeded", "diverged", None)
    assert run.result is not None
    assert run.result["train_seconds"] == run.seconds == 4.0
    assert (run.result["steps_to_target"], run.result["seconds_to_target"]) == (20, 2.0)
    assert (run.worker_id, run.lease_expires_at) == (None, None)
    assert run.finished_at is not None
    assert taken_back(db) == []
