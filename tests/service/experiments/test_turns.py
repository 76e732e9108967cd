"""Experiments of one priority take turns, however many runs each has."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import event, text, update
from sqlalchemy.orm import Session

from normcore.footprint import compute_needed_bytes
from normcore.spec import resolve
from service.db import Database, epoch_now
from service.experiments import lifecycle, submission, turns
from service.experiments.lifecycle import Lease
from service.experiments.tables import Run
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.queue import Notification
from tests.service.sample_runs import claimed, failed, run_of, submitted, written
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


def position(db: Database, queue: str = "auto", priority: int = 5, memory: int | None = None) -> int:
    with db.snapshot() as session:
        return turns.queue_position(session, turns.QueuePart(queue, needs_fused=False), priority, memory)


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
        query = turns.first_ready(turns.QueuePart("cpu", needs_fused))
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


GB = 10**9


def join(db: Database, worker_id: str, memory: int | None, device: str = "cpu", *, fused: bool = False) -> None:
    """Register a worker that gives the tensors of a training so many bytes."""
    given = None if memory is None else compute_needed_bytes(device, memory)
    identity = WorkerIdentity(worker_id, "host", 1, device, ("auto", device), memory=given, fused=fused)
    with db.transaction() as session:
        registration.register(session, identity)


def needing(db: Database, memory: int, seeds: int, **parts: Any) -> str:
    """Submit an experiment whose runs need so many bytes, and return its id."""
    spec = resolve(written(seeds=range(seeds), **parts))
    with db.transaction() as session:
        experiment, _ = submission.submit(session, spec, memory_bytes=memory, request_digest="")
    return experiment.id


def claims(db: Database, worker_id: str, count: int, queues: Sequence[str] = ("auto", "cpu")) -> list[str]:
    """Let a worker claim runs. Return the experiments of the runs."""
    found = []
    for _ in range(count):
        with db.transaction() as session:
            claim = lifecycle.claim(session, queues=queues, worker_id=worker_id, lease_seconds=60)
        assert claim is not None
        found.append(run_of(db, claim.lease.run_id).experiment_id)
    return found


@pytest.mark.parametrize("large", [100 * GB, None], ids=["100 GB", "not known"])
@pytest.mark.parametrize("ahead", [(12,), (1000, 100)], ids=["few", "many"])
def test_a_newcomer_does_not_overtake_the_runs_that_a_small_worker_has_left_to_do(
    db: Database, ahead: Sequence[int], large: int | None
) -> None:
    """The small worker is far ahead in the turns, because the other runs do not fit it, however many they are."""
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", large)
    first = needing(db, 1 * GB, 12)
    for seeds in ahead:
        needing(db, 10 * GB, seeds)
    assert claims(db, "wrk_small", 8) == [first] * 8
    newcomer = needing(db, 1 * GB, 4)
    assert claims(db, "wrk_small", 4) == [first, newcomer, first, newcomer]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_worker_that_can_take_no_run_lets_no_newcomer_overtake(db: Database, device: str) -> None:
    """Neither a worker of another device nor one that is too small for all runs decides where a newcomer comes."""
    join(db, "wrk_tiny", 0, device)
    join(db, "wrk_small", 24 * GB, "cuda")
    join(db, "wrk_large", 80 * GB, "cuda")
    queues = ("auto", "cuda")
    needing(db, 40 * GB, 3, device="cuda")
    older = needing(db, 10 * GB, 12, device="cuda")
    assert claims(db, "wrk_small", 6, queues) == [older] * 6
    newcomer = needing(db, 10 * GB, 4, device="cuda")
    assert claims(db, "wrk_small", 4, queues) == [older, newcomer, older, newcomer]


def test_a_newcomer_that_only_a_large_worker_can_take_waits_for_that_worker_alone(db: Database) -> None:
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", 100 * GB)
    first, too_large = needing(db, 1 * GB, 12), needing(db, 10 * GB, 12)
    assert claims(db, "wrk_small", 8) == [first] * 8
    newcomer = needing(db, 10 * GB, 2)
    assert claims(db, "wrk_large", 4) == [too_large, newcomer, too_large, newcomer]


def test_a_newcomer_waits_for_a_larger_worker_if_the_smallest_that_can_take_it_has_nothing_to_do(db: Database) -> None:
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", 100 * GB)
    first = needing(db, 10 * GB, 12)
    assert claims(db, "wrk_large", 8) == [first] * 8
    newcomer = needing(db, 1 * GB, 4)
    assert claims(db, "wrk_large", 4) == [first, newcomer, first, newcomer]


@pytest.mark.parametrize("small", [1 * GB, None], ids=["1 GB", "not known"])
def test_runs_of_one_sweep_with_other_memory_wait_for_the_workers_that_can_take_them(
    db: Database, small: int | None
) -> None:
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", 100 * GB)
    first = needing(db, 1 * GB, 12)
    needing(db, 10 * GB, 12)
    assert claims(db, "wrk_small", 8) == [first] * 8
    line = turns.QueuePart("auto", needs_fused=False)
    with db.snapshot() as session:
        alone = [turns.next_turn(session, line, 5, memory) for memory in (10 * GB, small)]
        together = turns.Turns(session, 5)
        assert [together.next(line, memory) for memory in (10 * GB, small, 10 * GB)] == [
            *alone,
            alone[1] + turns.ROUND,
        ]
    assert alone[1] > alone[0] + turns.ROUND


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_is_larger_than_every_worker_is_overtaken_once(db: Database, workers: int) -> None:
    """The worker that was large enough has left. A worker that takes the run says that the run is too large."""
    for number in range(workers):
        join(db, f"wrk_{number}", (number + 1) * GB)
    first = needing(db, 1 * GB, 1)
    too_large = needing(db, 10 * GB, 1)
    assert claims(db, "wrk_0", 1) == [first]
    newcomers = [needing(db, 1 * GB, 1)]
    claimed_first = claims(db, "wrk_0", 1)
    newcomers.append(needing(db, 1 * GB, 1))
    assert claimed_first + claims(db, "wrk_0", 1) in ([too_large, newcomers[0]], [newcomers[0], too_large])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_retried_run_that_is_larger_than_every_worker_does_not_overtake(db: Database, device: str) -> None:
    """The worker that was large enough has left. The small worker takes such runs, and is far ahead in the turns."""
    join(db, "wrk_small", 1 * GB, device)
    join(db, "wrk_large", 10 * GB, device)
    first = needing(db, 1 * GB, 12, device=device)
    needing(db, 10 * GB, 12, device=device)
    queues = ("auto", device)
    assert claims(db, "wrk_small", 8, queues) == [first] * 8
    too_large = needing(db, 50 * GB, 4, device=device)
    assert claims(db, "wrk_small", 4, queues) == [first, too_large, first, too_large]


def test_the_predicted_place_is_in_the_order_of_the_smallest_worker_that_takes_the_run(db: Database) -> None:
    """A run that is larger than every worker is in all orders."""
    join(db, "wrk_small", 1 * GB)
    join(db, "wrk_large", 10 * GB)
    for memory, seeds in ((10 * GB, 5), (1 * GB, 3), (50 * GB, 1)):
        needing(db, memory, seeds, priority=6)
    assert [position(db, memory=memory) for memory in (None, 1 * GB, 10 * GB, 50 * GB)] == [5, 5, 10, 5]
    newcomer = needing(db, 1 * GB, 1)
    assert claims(db, "wrk_small", 5)[-1] == newcomer


def test_the_predicted_place_counts_all_runs_if_a_worker_reports_no_memory(db: Database) -> None:
    join(db, "wrk_1", None)
    needing(db, 10 * GB, 5)
    assert position(db, priority=4, memory=1 * GB) == 6


def test_of_many_amounts_of_memory_the_smallest_and_the_largest_count() -> None:
    assert turns._pick_sizes(range(3)) == range(3)
    picked = turns._pick_sizes(range(100))
    assert (len(picked), picked[0], picked[-1]) == (turns.MAX_SIZES, 0, 99)


@pytest.mark.parametrize(("worker_memory", "most"), [(None, 1 / 50), (1 * GB, 4)])
def test_a_turn_looks_at_few_runs_unless_a_worker_is_too_small_for_them(
    db: Database, worker_memory: int | None, most: float
) -> None:
    """Then it passes over each run once, in the index."""
    join(db, "wrk_1", worker_memory)
    join(db, "wrk_2", None)
    queued = 3000
    needing(db, 10 * GB, 1000)
    needing(db, 10 * GB, 1000)
    needing(db, 10 * GB, 1000)
    assert work_of_a_turn(db) <= most * queued


def test_experiments_that_are_stored_together_look_at_the_queue_once(db: Database) -> None:
    join(db, "wrk_1", 1 * GB)
    join(db, "wrk_2", None)
    statements = list[str]()
    event.listen(db.engine, "before_cursor_execute", lambda _, __, statement, *___: statements.append(statement))
    with db.snapshot() as session:
        line = turns.QueuePart("auto", needs_fused=False)
        found = [turns.next_turn(session, line, priority, 1) for priority in (5, 5, 6)]
    assert found == [0, 0, 0]
    assert sum("turn" in statement for statement in statements) == 2, "once for each priority"


def work_of_a_turn(db: Database) -> float:
    """Rows of runs that the database reads to find a newcomer's turn. On SQLite: a tenth of its instructions."""
    with db.snapshot() as session:
        line, connection = turns.QueuePart("auto", needs_fused=False), session.connection()
        if db.is_sqlite:
            steps = list[int]()
            driver: Any = connection.connection.dbapi_connection
            driver.set_progress_handler(lambda: steps.append(10), 100)
            turns.next_turn(session, line, priority=5, memory_bytes=1)
            driver.set_progress_handler(None, 0)
            return sum(steps)
        before = _tuples_read(session)
        turns.next_turn(session, line, priority=5, memory_bytes=1)
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
