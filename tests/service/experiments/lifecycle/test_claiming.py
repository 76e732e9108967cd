"""Workers take runs from the queue: each run goes to one of them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from service.db import Database
from service.experiments import lifecycle
from service.experiments.tables import Run
from tests.service.experiments.lifecycle.verbs import claim_one, database_time, lost
from tests.service.sample_runs import ALL_QUEUES, begun, claimed, run_of, submitted


def test_a_claim_holds_all_that_a_worker_needs_and_marks_the_run_as_its_own(db: Database) -> None:
    experiment = submitted(db, seeds=[7])
    claim = claimed(db, worker_id="wrk_7", lease_seconds=60)
    assert (claim.lease.run_id, claim.lease.attempt, claim.seed) == (experiment.runs[0].id, 1, 7)
    assert claim.spec == experiment.spec
    run = run_of(db, claim.lease.run_id)
    assert (run.state, run.worker_id) == ("running", "wrk_7")
    assert run.lease_expires_at == pytest.approx(database_time(db) + 60, abs=20)
    assert run.started_at is not None
    assert claim_one(db) is None


def test_many_workers_that_claim_at_once_get_every_run_once(db: Database) -> None:
    experiment = submitted(db, seeds=range(24))
    ready = threading.Barrier(8)

    def work(name: str) -> list[str]:
        ready.wait()
        mine = []
        while (claim := claim_one(db, name)) is not None:
            mine.append(claim.lease.run_id)
        return mine

    with ThreadPoolExecutor(8) as pool:
        shares = list(pool.map(work, [f"wrk_{k}" for k in range(8)]))
    got = [run_id for share in shares for run_id in share]
    assert sorted(got) == sorted(run.id for run in experiment.runs)
    for k, share in enumerate(shares):
        assert {run_of(db, run_id).worker_id for run_id in share} <= {f"wrk_{k}"}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_claim_does_not_wait_for_another_and_takes_the_next_run(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    with db.transaction() as session:
        slow = lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk_slow", lease_seconds=60)
        with ThreadPoolExecutor(1) as pool:
            quick = pool.submit(claim_one, db, "wrk_quick").result(timeout=10)
    assert [claim and claim.lease.run_id for claim in (slow, quick)] == [run.id for run in experiment.runs]


def test_the_most_urgent_run_goes_first(db: Database) -> None:
    low, high, usual = (submitted(db, seeds=[0, 1], priority=p) for p in (0, 9, 5))
    expected = [*high.runs, *usual.runs, *low.runs]
    assert [claimed(db).lease.run_id for _ in expected] == [run.id for run in expected]


def test_a_worker_gets_only_runs_of_its_own_queues(db: Database) -> None:
    cuda, cpu = submitted(db, device="cuda"), submitted(db, device="cpu")
    auto = submitted(db, device="auto")
    got = [claim_one(db, queues=("auto", "cpu")) for _ in range(3)]
    assert [claim and claim.lease.run_id for claim in got] == [cpu.runs[0].id, auto.runs[0].id, None]
    assert run_of(db, cuda.runs[0].id).state == "queued"


def test_a_claim_says_which_checkpoints_still_fit(db: Database) -> None:
    submitted(db)
    first = claimed(db)
    assert (first.started_attempt, first.resumed_from) == (0, 0)
    begun(db, first.lease)
    lost(db, first.lease)
    second = claimed(db)
    assert (second.started_attempt, second.resumed_from) == (1, 0)
    begun(db, second.lease, step=30, resumed_from=30)
    lost(db, second.lease)
    third = claimed(db)
    assert (third.started_attempt, third.resumed_from) == (2, 30)
    lost(db, third.lease)
    assert (claimed(db).started_attempt, third.lease.attempt) == (2, 3), "the third never began"


def test_a_run_that_is_claimed_again_keeps_its_start_and_is_in_no_phase(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    begun(db, lease)
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    with db.transaction() as session:
        session.execute(update(Run).values(started_at=long_ago, phase="evaluating"))
    lost(db, lease)
    claimed(db)
    run = run_of(db, lease.run_id)
    assert (run.started_at, run.phase) == (long_ago, None)
