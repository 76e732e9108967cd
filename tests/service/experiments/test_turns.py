"""Experiments of one priority take turns, however many runs each has."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import text, update
from sqlalchemy.orm import Session

from normcore.footprint import compute_needed_bytes
from service.db import Database, epoch_now
from service.experiments import lifecycle, turns
from service.experiments.lifecycle import Lease
from service.experiments.tables import Run
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.queue import Notification
from tests.service.sample_runs import claimed, failed, run_of, submitted
from tests.service.sweeps.sample_sweeps import LR, posted, stored


def claimed_experiments(db: Database, count: int) -> list[str]:
    """Experiments of the runs that the next claims get."""
    return [run_of(db, claimed(db).lease.run_id).experiment_id for _ in range(count)]


def cancelled(db: Database, experiment_id: str) -> None:
    with db.transaction() as session:
        lifecycle.cancel(session, experiment_id)


def retried(db: Database, experiment_id: str) -> list[Notification]:
    with db.transaction() as session:
        return lifecycle.retry(session, experiment_id)


def deferred(db: Database, lease: Lease) -> None:
    with db.transaction() as session:
        lifecycle.defer(session, lease, "disk full")


def pauses_are_over(db: Database) -> None:
    with db.transaction() as session:
        session.execute(update(Run).where(Run.not_before.is_not(None)).values(not_before=epoch_now()))
        lifecycle.end_pauses(session)


def position(db: Database, queue: str = "auto", priority: int = 5) -> int:
    with db.snapshot() as session:
        return turns.queue_position(session, turns.Line(queue, needs_fused=False), priority)


def test_a_thousand_queued_runs_delay_another_experiment_by_one_run(db: Database) -> None:
    many = submitted(db, seeds=range(1000))
    one = submitted(db)
    assert claimed_experiments(db, 3) == [many.id, one.id, many.id]


def test_experiments_with_many_runs_each_get_every_other_one(db: Database) -> None:
    first, second = submitted(db, seeds=range(4)), submitted(db, seeds=range(3))
    assert claimed_experiments(db, 7) == [first.id, second.id] * 3 + [first.id]


def test_a_late_experiment_takes_turns_with_an_earlier_one(db: Database) -> None:
    first = submitted(db, seeds=range(8))
    assert claimed_experiments(db, 4) == [first.id] * 4
    late = submitted(db, seeds=range(8))
    assert claimed_experiments(db, 6) == [first.id, late.id] * 3


def test_newcomers_do_not_keep_a_waiting_run_from_its_turn_for_ever(db: Database) -> None:
    waiting = submitted(db, seeds=range(3))
    got = []
    for _ in range(8):
        submitted(db)
        got += claimed_experiments(db, 1)
    assert got.count(waiting.id) == 3


def test_priority_goes_before_turns(db: Database) -> None:
    usual, urgent = submitted(db, seeds=range(3)), submitted(db, seeds=range(3), priority=9)
    assert claimed_experiments(db, 6) == [urgent.id] * 3 + [usual.id] * 3


def test_a_run_that_is_given_back_is_next_and_does_not_delay_later_runs(db: Database) -> None:
    first = submitted(db, seeds=range(5))
    leases = [claimed(db).lease for _ in range(3)]
    with db.transaction() as session:
        lifecycle.release(session, leases[0], "its worker stopped")
    late = submitted(db, seeds=range(5))
    assert claimed(db).lease.run_id == leases[0].run_id
    assert claimed_experiments(db, 4) == [first.id, late.id, first.id, late.id]


def test_a_run_that_is_given_back_is_next_even_if_no_other_run_waited(db: Database) -> None:
    submitted(db, seeds=range(5))
    lease = [claimed(db).lease for _ in range(5)][-1]
    submitted(db, seeds=range(5))
    with db.transaction() as session:
        lifecycle.release(session, lease, "its worker stopped")
    assert claimed(db).lease.run_id == lease.run_id


def test_runs_that_wait_for_trouble_to_pass_take_turns_with_others(db: Database) -> None:
    troubled = submitted(db, seeds=range(6))
    for lease in [claimed(db).lease for _ in range(4)]:
        deferred(db, lease)
    other = submitted(db, seeds=range(3))
    pauses_are_over(db)
    assert claimed_experiments(db, 9) == [troubled.id, other.id] * 3 + [troubled.id] * 3


def test_a_paused_run_delays_no_run_and_lets_no_run_overtake(db: Database) -> None:
    submitted(db)
    paused = claimed(db).lease
    first = submitted(db, seeds=range(8))
    deferred(db, paused)
    assert claimed_experiments(db, 4) == [first.id] * 4
    late = submitted(db, seeds=range(4))
    assert claimed_experiments(db, 4) == [first.id, late.id] * 2


def test_a_run_that_comes_back_from_its_pause_lets_no_newcomer_overtake_others(db: Database) -> None:
    paused = submitted(db)
    deferred(db, claimed(db).lease)
    assert position(db) == 1
    waiting = submitted(db, seeds=range(30))
    assert claimed_experiments(db, 20) == [waiting.id] * 20
    pauses_are_over(db)
    assert position(db) == 3
    late = submitted(db, seeds=range(30))
    assert claimed_experiments(db, 6) == [waiting.id, paused.id, late.id, waiting.id, late.id, waiting.id]


def test_a_sweep_that_comes_back_from_its_pauses_delays_a_newcomer_by_one_run(db: Database) -> None:
    troubled = submitted(db, seeds=range(20))
    for lease in [claimed(db).lease for _ in range(20)]:
        deferred(db, lease)
    other = submitted(db, seeds=range(40))
    assert claimed_experiments(db, 20) == [other.id] * 20
    pauses_are_over(db)
    single = submitted(db)
    assert sorted(claimed_experiments(db, 3)) == sorted([other.id, troubled.id, single.id])


def test_a_run_in_its_pause_is_not_overtaken_by_a_sweep_that_comes_meanwhile(db: Database) -> None:
    gone = submitted(db, seeds=range(40))
    claimed_experiments(db, 20)
    single = submitted(db)
    deferred(db, [claimed(db).lease for _ in range(2)][-1])
    cancelled(db, gone.id)
    sweep = submitted(db, seeds=range(40))
    pauses_are_over(db)
    assert claimed_experiments(db, 2) == [sweep.id, single.id]


def test_a_paused_run_lets_no_run_overtake_runs_that_wait_for_the_same_workers(db: Database) -> None:
    submitted(db)
    deferred(db, claimed(db).lease)
    waiting = submitted(db, seeds=range(30), device="cpu")
    assert [claim_on_cpu(db) for _ in range(20)] == [waiting.id] * 20
    late = submitted(db, seeds=range(30))
    assert [claim_on_cpu(db) for _ in range(4)] == [waiting.id, late.id] * 2


def test_retried_runs_take_turns_anew(db: Database) -> None:
    again, other = submitted(db, seeds=range(3)), submitted(db, seeds=range(6))
    cancelled(db, again.id)
    assert claimed_experiments(db, 3) == [other.id] * 3
    retried(db, again.id)
    order = claimed_experiments(db, 6)
    assert sorted(order) == sorted([again.id] * 3 + [other.id] * 3)
    assert all(len(set(order[k : k + 2])) == 2 for k in (0, 2, 4)), "one of each in every round"


def test_retried_runs_that_had_trained_are_not_overtaken_by_newcomers(db: Database) -> None:
    again = submitted(db, seeds=range(6))
    for _ in range(6):
        failed(db, claimed(db).lease, "out of memory")
    retried(db, again.id)
    assert claimed_experiments(db, 2) == [again.id] * 2
    late = submitted(db, seeds=range(6))
    assert claimed_experiments(db, 8) == [again.id, late.id] * 4


def test_a_queue_without_workers_does_not_disturb_the_turns_of_other_queues(db: Database) -> None:
    submitted(db, seeds=range(5), device="cuda")
    auto = submitted(db, seeds=range(6))
    for _ in range(3):
        assert claim_on_cpu(db) == auto.id
    late = submitted(db, seeds=range(3))
    assert [claim_on_cpu(db) for _ in range(4)] == [auto.id, late.id, auto.id, late.id]


def test_a_sweep_in_a_queue_without_live_workers_does_not_delay_newcomers(db: Database) -> None:
    with db.transaction() as session:
        registration.heartbeat(session, WorkerIdentity("wrk_1", "here", 1, "cpu", ("auto", "cpu")))
    ahead = submitted(db, seeds=range(40))
    for _ in range(20):
        claim_on_cpu(db)
    submitted(db, device="cuda")  # behind the run that is next now
    cancelled(db, ahead.id)
    sweep = submitted(db, seeds=range(40), device="cpu")
    single = submitted(db)
    assert [claim_on_cpu(db) for _ in range(3)] == [sweep.id, single.id, sweep.id]


def test_runs_for_a_device_that_no_live_worker_has_are_ahead_of_no_run(db: Database) -> None:
    with db.transaction() as session:
        registration.heartbeat(session, WorkerIdentity("wrk_1", "here", 1, "cpu", ("auto", "cpu")))
    submitted(db, device="cuda", seeds=range(3))
    assert position(db) == 1
    submitted(db, device="cpu", priority=9)
    assert position(db) == 2
    newcomer = submitted(db)
    assert [claim_on_cpu(db) for _ in range(2)][-1] == newcomer.id


@pytest.mark.parametrize("needs_fused", [False, True])
def test_the_next_run_is_found_by_the_index_without_a_look_at_runs_for_other_workers(
    db: Database, needs_fused: bool
) -> None:
    with db.snapshot() as session:
        query = turns.first_ready(turns.Line("cpu", needs_fused))
        statement = query.compile(session.get_bind(), compile_kwargs={"literal_binds": True})
        if not db.is_sqlite:
            session.execute(text("SET enable_seqscan = off"))
        explain = "EXPLAIN QUERY PLAN" if db.is_sqlite else "EXPLAIN"
        plan = [str(row[-1]).strip() for row in session.execute(text(f"{explain} {statement}"))]
    if db.is_sqlite:
        index = "USING INDEX ix_runs_state_queue_turn (state=? AND queue=? AND needs_fused=?)"
        assert plan == [f"SEARCH runs {index}"], "and sorts nothing"
    else:
        (condition,) = (line for line in plan if line.startswith("Index Cond"))
        assert f"(needs_fused = {str(needs_fused).lower()})" in condition
        assert "Sort" not in " ".join(plan)


SMALL, LARGE = (
    compute_needed_bytes("cpu", 10**9),
    compute_needed_bytes("cpu", 10**11),
)  # bytes that workers give a training


def join(db: Database, worker_id: str, memory: int | None) -> None:
    with db.transaction() as session:
        registration.register(session, WorkerIdentity(worker_id, "host", 1, "cpu", ("auto", "cpu"), memory=memory))


def needing(db: Database, memory: int, experiment_id: str) -> None:
    with db.transaction() as session:
        session.execute(update(Run).where(Run.experiment_id == experiment_id).values(memory_bytes=memory))


def test_a_newcomer_does_not_overtake_the_runs_that_a_small_worker_has_left_to_do(db: Database) -> None:
    """The small worker is far ahead in the turns, because the other runs do not fit it."""
    join(db, "wrk_1", SMALL)
    join(db, "wrk_large", LARGE)
    first, too_large = submitted(db, seeds=range(12)), submitted(db, seeds=range(12))
    needing(db, 10**10, too_large.id)
    assert {claim_on_cpu(db) for _ in range(8)} == {first.id}
    newcomer = submitted(db, seeds=range(4))
    assert [claim_on_cpu(db) for _ in range(4)] == [first.id, newcomer.id, first.id, newcomer.id]


@pytest.mark.parametrize(("worker_memory", "most"), [(None, turns.LOOKED_AT / 10), (SMALL, 4 * turns.LOOKED_AT)])
def test_a_turn_takes_no_longer_behind_thousands_of_runs_that_fit_no_worker(
    db: Database, worker_memory: int | None, most: float
) -> None:
    join(db, "wrk_1", worker_memory)
    assert turns.LOOKED_AT == 1000
    counted = []
    for _ in range(3):
        for _ in range(2):
            needing(db, 10**10, submitted(db, seeds=range(1000)).id)
        counted.append(rows_read_for_a_turn(db))
    assert max(counted) <= most
    assert counted[2] <= 1.1 * counted[1]


def rows_read_for_a_turn(db: Database) -> int:
    """Rows of runs that the database reads to find a newcomer's turn; on SQLite, hundredths of its instructions."""
    with db.snapshot() as session:
        line, connection = turns.Line("auto", needs_fused=False), session.connection()
        if db.is_sqlite:
            steps = []
            driver: Any = connection.connection.dbapi_connection
            driver.set_progress_handler(lambda: steps.append(1), 100)
            turns.next_turn(session, line, priority=5)
            driver.set_progress_handler(None, 0)
            return len(steps)
        before = _tuples_read(session)
        turns.next_turn(session, line, priority=5)
        return _tuples_read(session) - before


def _tuples_read(session: Session) -> int:
    read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'runs'"
    return int(session.scalars(text(read)).one())


def claim_on_cpu(db: Database) -> str:
    with db.transaction() as session:
        claim = lifecycle.claim(session, queues=("auto", "cpu"), worker_id="wrk_1", lease_seconds=60)
    assert claim is not None
    return run_of(db, claim.lease.run_id).experiment_id


@pytest.mark.parametrize(
    ("waiting", "queue", "priority", "expected"),
    [
        ([], "auto", 5, 1),
        ([("auto", 5, 100)], "auto", 5, 2),
        ([("auto", 5, 3), ("cpu", 5, 3)], "cpu", 5, 3),
        ([("cuda", 5, 3)], "cpu", 5, 1),
        ([("auto", 9, 3), ("auto", 5, 1), ("auto", 0, 7)], "auto", 5, 5),
    ],
)
def test_the_predicted_place_of_a_newcomer_is_the_claim_that_takes_it(
    db: Database, waiting: Sequence[tuple[str, int, int]], queue: str, priority: int, expected: int
) -> None:
    for device, urgency, runs in waiting:
        submitted(db, device=device, priority=urgency, seeds=range(runs))
    assert position(db, queue, priority) == expected
    newcomer = submitted(db, device=queue, priority=priority)
    served = ("auto", "cpu") if queue == "cpu" else ("auto", "cpu", "cuda")
    for _ in range(expected):
        with db.transaction() as session:
            claim = lifecycle.claim(session, queues=served, worker_id="wrk_1", lease_seconds=60)
    assert claim is not None
    assert claim.lease.run_id == newcomer.runs[0].id


def test_runs_of_a_sweep_that_come_back_from_a_pause_delay_no_other_run(db: Database) -> None:
    stored(db, posted({LR: [1e-4, 1e-3, 1e-2, 1e-1]}))
    leases = [claimed(db).lease for _ in range(4)]
    for lease in leases:
        deferred(db, lease)
    pauses_are_over(db)
    alone = submitted(db, "none").runs[0].id
    order = [claimed(db).lease.run_id for _ in range(3)]
    assert order.index(alone) == 1
