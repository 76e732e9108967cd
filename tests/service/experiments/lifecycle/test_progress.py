"""A run that reaches new checkpoints is never given up; a run that does not is given up."""

from service.db import Database
from service.experiments import lifecycle
from tests.service.experiments.lifecycle.verbs import MAX_ATTEMPTS, deferred, done, end_pauses, lost, pause_of
from tests.service.sample_runs import begun, claimed, recorded, run_of, submitted


def test_a_run_that_gets_to_a_new_checkpoint_between_its_losses_never_fails(db: Database) -> None:
    submitted(db)
    for step in range(10, 10 * MAX_ATTEMPTS * 4, 10):
        lease = claimed(db).lease
        begun(db, lease, step=step, resumed_from=step)
        assert lost(db, lease) is not None
    assert run_of(db, lease.run_id).times_lost == 1


def test_a_checkpoint_before_the_worker_is_lost_resets_the_count_of_losses(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS - 1):
        lease = claimed(db).lease
        lost(db, lease)
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, saved=40)
    assert lost(db, lease) is not None
    assert run_of(db, lease.run_id).times_lost == 1


def test_a_checkpoint_that_is_not_beyond_where_the_attempt_began_is_no_progress(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS):
        lease = claimed(db).lease
        begun(db, lease, step=40, resumed_from=40)
        recorded(db, lease, saved=40)
        notification = lost(db, lease)
    assert notification is None
    assert run_of(db, lease.run_id).state == "failed"


def test_a_run_that_dies_again_and_again_at_one_place_fails(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS):
        lease = claimed(db).lease
        begun(db, lease, step=10, resumed_from=10)
        notification = lost(db, lease)
    assert notification is None
    run = run_of(db, lease.run_id)
    assert run.state == "failed"
    assert run.error is not None
    assert run.error.startswith(f"lost {MAX_ATTEMPTS} times without a new checkpoint: killed; killed")


def test_going_on_from_an_older_checkpoint_is_no_progress(db: Database) -> None:
    submitted(db)
    for step in (30, 20, 10):
        lease = claimed(db).lease
        begun(db, lease, step=step, resumed_from=step)
        lost(db, lease)
    assert run_of(db, lease.run_id).state == "failed"


def test_pauses_begin_anew_once_the_run_gets_to_a_new_checkpoint(db: Database) -> None:
    submitted(db)
    for _ in range(5):
        lease = claimed(db).lease
        deferred(db, lease)
        end_pauses(db)
    lease = claimed(db).lease
    begun(db, lease, step=10, resumed_from=10)
    deferred(db, lease)
    assert 0 <= 1 - pause_of(db, lease.run_id) < 1


def test_a_retry_resets_the_losses_and_pauses_of_a_run(db: Database) -> None:
    experiment = submitted(db)
    for _ in range(5):
        lease = claimed(db).lease
        deferred(db, lease)
        end_pauses(db)
    for _ in range(MAX_ATTEMPTS):
        lease = claimed(db).lease
        lost(db, lease)
    assert run_of(db, lease.run_id).state == "failed"
    done(db, lambda s: lifecycle.retry(s, experiment.id))
    lease = claimed(db).lease
    assert lost(db, lease) is not None, "the first loss of three"
    deferred(db, claimed(db).lease)
    assert 0 <= 1 - pause_of(db, lease.run_id) < 1, "the first pause"
    done(db, lambda s: lifecycle.cancel(s, experiment.id))
    done(db, lambda s: lifecycle.retry(s, experiment.id))
    assert pause_of(db, lease.run_id) == 0
    assert claimed(db).lease.run_id == lease.run_id
