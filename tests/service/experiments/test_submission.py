"""A submitted experiment is stored with its runs, once for each key."""

from typing import Any

import pytest
from sqlalchemy import func, select

from normcore.spec import digest, resolve
from service.db import Database
from service.errors import Conflict
from service.experiments import submission
from service.experiments.tables import Experiment, Label, Run
from tests.service.experiments.lifecycle.verbs import database_time
from tests.service.sample_runs import MAX_STEPS, submitted, written


def test_a_submitted_experiment_is_stored_with_one_queued_run_for_each_seed(db: Database) -> None:
    experiment = submitted(
        db, "recurrent_batch_norm", seeds=[3, 1, 2], device="cpu", priority=7, labels={"team": "vision", "day": "1"}
    )
    with db.snapshot() as session:
        stored = session.get_one(Experiment, experiment.id)
        assert (stored.task, stored.profile, stored.method) == ("permuted_digits", "smoke", "recurrent_batch_norm")
        assert stored.spec == resolve(stored.spec).model_dump(mode="json"), "the resolved spec is what is stored"
        assert stored.fingerprint == resolve(stored.spec).fingerprint()
        assert [run.seed for run in stored.runs] == [3, 1, 2]
        for run in stored.runs:
            assert (run.state, run.attempt, run.queue, run.priority) == ("queued", 1, "cpu", 7)
            assert (run.step, run.max_steps, run.history, run.cancel_requested) == (0, MAX_STEPS, [], False)
            assert run.started_at is None
            assert run.notified_at == pytest.approx(database_time(db), abs=30)
        labels = session.execute(select(Label.key, Label.value).where(Label.experiment_id == stored.id)).all()
        assert sorted(tuple(label) for label in labels) == [("day", "1"), ("team", "vision")]


def test_a_submission_that_is_not_committed_leaves_nothing(db: Database) -> None:
    spec = resolve(written(seeds=[0, 1], labels={"a": "b"}))
    with db.transaction() as session:
        submission.submit(session, spec, memory_bytes=None, request_digest="d")
        session.rollback()
    with db.snapshot() as session:
        for table in (Experiment, Run, Label):
            assert session.scalar(select(func.count()).select_from(table)) == 0


def submit_with_key(db: Database, body: dict[str, Any], key: str) -> tuple[str, bool]:
    with db.transaction() as session:
        experiment, created = submission.submit(
            session, resolve(body), memory_bytes=None, request_digest=digest(body), idempotency_key=key
        )
        return experiment.id, created


def test_the_same_key_and_body_finds_the_same_experiment_and_another_body_is_refused(db: Database) -> None:
    first, created = submit_with_key(db, written(), "k")
    assert created
    assert submit_with_key(db, written(), "k") == (first, False)
    with pytest.raises(Conflict):
        submit_with_key(db, written("none"), "k")
    assert submit_with_key(db, written("none"), "l")[0] != first
    with db.snapshot() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 2
