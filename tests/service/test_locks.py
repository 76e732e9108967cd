"""Locks on PostgreSQL: transactions wait for each other, or pass over the rows that another holds."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from normcore.spec import digest
from service import results
from service.db import Database, epoch_now
from service.experiments import lifecycle
from service.experiments.machines import Start
from service.experiments.tables import Experiment, Run
from service.leaderboards.submitted_results import storing
from service.leaderboards.submitted_results.reading import read
from service.leaderboards.tables import Entry
from service.processes.migrate import migrate
from service.queue import Notification
from service.sweeps import adaptive, api, expansion, spec, submission
from tests.processes import until
from tests.service.experiments.lifecycle.test_cancelling import is_waited_for
from tests.service.experiments.lifecycle.verbs import deferred, done
from tests.service.leaderboards.submitted_results.test_routes import claim
from tests.service.sample_runs import QUIET, begun, claimed, finished, result_of, run_of, submitted, timing_of
from tests.service.sweeps.sample_sweeps import posted, run_all, runs_of, stored

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
ADVISORY_LOCK = 0x6E6F726D
KEY = "the same"


@contextmanager
def meanwhile(
    db: Database, held: Callable[[Session], Any], waits: Callable[[], Any]
) -> Iterator[tuple[Session, "Future[Any]"]]:
    """Context in which ``waits`` waits for the transaction of ``held``, which is committed at the end."""
    with ThreadPoolExecutor(1) as pool:
        with db.transaction() as session:
            held(session)
            waiting = pool.submit(waits)
            until(lambda: is_waited_for(db), 20, lambda: f"nobody waits: {waiting}")
            yield session, waiting
        waiting.result(timeout=20)


def passing(db: Database, verb: Callable[[Session], Any]) -> Any:
    """Result of a verb that must not wait."""

    def at_once(session: Session) -> Any:
        session.execute(text("SET LOCAL lock_timeout = '2s'"))
        return verb(session)

    return done(db, at_once)


def test_giving_a_run_back_waits_for_its_cancel_and_cancels_the_run(db: Database) -> None:
    experiment = submitted(db)
    lease = claimed(db).lease
    with meanwhile(
        db,
        lambda session: lifecycle.cancel(session, experiment.id),
        lambda: done(db, lambda session: lifecycle.release(session, lease, "its worker stopped")),
    ):
        pass
    assert run_of(db, lease.run_id).state == "cancelled"


def test_runs_are_locked_in_the_order_of_their_ids_wherever_their_rows_are(db: Database) -> None:
    """Otherwise two transactions that lock the same runs could wait for each other."""
    experiment = submitted(db, seeds=[0, 1])
    first, second = (run.id for run in experiment.runs)
    done(db, lambda session: session.execute(update(Run).where(Run.id == first).values(priority=6)))
    own = select(Run.id).with_for_update(nowait=True)
    with meanwhile(
        db,
        lambda session: session.scalars(own.where(Run.id == first)).one(),
        lambda: done(db, lambda session: lifecycle.cancel(session, experiment.id)),
    ):
        assert done(db, lambda session: session.scalars(own.where(Run.id == second)).one()) == second


def test_a_paused_run_that_is_locked_is_skipped(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    for _ in experiment.runs:
        deferred(db, claimed(db).lease)
    done(db, lambda session: session.execute(update(Run).values(not_before=epoch_now())))
    held, other = (run.id for run in experiment.runs)
    with db.transaction() as session:
        session.scalars(select(Run.id).where(Run.id == held).with_for_update()).one()
        passing(db, lifecycle.end_pauses)
        assert run_of(db, other).not_before is None
    assert run_of(db, held).not_before is not None


def test_a_run_that_two_schedulers_see_is_notified_of_once(db: Database) -> None:
    submitted(db)

    def notify(session: Session) -> list[Notification]:
        return lifecycle.notify_again(session, idle={"auto": 1}, after_seconds=-1)

    with db.transaction() as session:
        assert len(notify(session)) == 1
        assert passing(db, notify) == []


def test_workers_are_notified_of_the_run_that_is_next(db: Database) -> None:
    submitted(db, priority=1)
    [urgent] = submitted(db, priority=9).runs
    with db.transaction() as session:
        for scan in ("indexscan", "bitmapscan"):  # each scan may find the rows in another order
            session.execute(text(f"SET LOCAL enable_{scan} = off"))
        notified = lifecycle.notify_again(session, idle={"auto": 1}, after_seconds=-1)
    assert notified == [Notification(urgent.id, "auto")]


def test_runs_that_end_together_wait_for_their_entry_and_both_count(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1, 2])
    first, second, third = (claimed(db).lease for _ in range(3))
    for lease in (first, second, third):
        begun(db, lease)
    finished(db, first)
    start = Start.of(run_of(db, second.run_id).environment or {}).add_probe(QUIET)
    own = Entry.fingerprint == experiment.fingerprint
    with meanwhile(
        db,
        lambda session: session.scalars(select(Entry.fingerprint).where(own).with_for_update()).one(),
        lambda: finished(db, third),
    ) as (session, _):
        results.finish(session, second, "completed", result_of(), timing_of(), start)
    with db.snapshot() as session:
        entry = session.scalars(select(Entry).where(own)).one()
    assert (entry.n_runs, len(entry.results)) == (3, 3)


def ended(db: Database) -> str:
    """The id of an adaptive sweep that is to get more seeds."""
    sweep_id = stored(db, posted({"norm.method": ["none", "layer_norm"]}, adaptive=True))
    run_all(db, lambda spec, seed: 0.5 + seed / 100)
    return sweep_id


def test_a_sweep_that_another_scheduler_advances_gets_its_seeds_once(db: Database) -> None:
    sweep_id = ended(db)
    before = len(runs_of(db, sweep_id))
    with db.transaction() as session:
        added = len(adaptive.advance(session))
        assert added > 0
        assert passing(db, adaptive.advance) == []
    assert len(runs_of(db, sweep_id)) == before + added


def test_a_cancel_of_a_sweep_waits_for_its_new_seeds_and_cancels_them(db: Database) -> None:
    sweep_id = ended(db)
    with meanwhile(db, adaptive.advance, lambda: done(db, lambda session: api.cancel(session, sweep_id))):
        pass
    with db.snapshot() as session:
        of_sweep = select(Run.state).join(Experiment).where(Experiment.sweep_id == sweep_id)
        assert set(session.scalars(of_sweep)) == {"succeeded", "cancelled"}
    assert done(db, adaptive.advance) == []


def test_a_sweep_that_is_being_cancelled_is_skipped(db: Database) -> None:
    sweep_id = ended(db)
    with db.transaction() as session:
        api.cancel(session, sweep_id)
        assert passing(db, adaptive.advance) == []


def test_a_snapshot_is_of_one_moment_and_writes_nothing(db: Database) -> None:
    run_id = submitted(db).runs[0].id
    query = select(Run.priority).where(Run.id == run_id)
    with db.snapshot() as session:
        before = session.scalars(query).one()
        done(db, lambda other: other.execute(update(Run).values(priority=before + 1)))
        assert session.scalars(query).one() == before
    with db.snapshot() as session, pytest.raises(DBAPIError, match="read-only transaction"):
        session.execute(update(Run).values(priority=1))


def test_a_result_is_found_by_a_key_that_another_process_is_storing(db: Database, client: TestClient) -> None:
    body = claim()
    with meanwhile(
        db,
        lambda session: storing.store(session, read(body), request_digest=digest(body), idempotency_key=KEY),
        lambda: client.post("/v1/results", json=body, headers={"Idempotency-Key": KEY}),
    ) as (_, answer):
        pass
    assert answer.result().status_code == 200, answer.result().text


def test_a_sweep_is_found_by_a_key_that_another_process_is_storing(db: Database, client: TestClient) -> None:
    body = posted()
    sweep = spec.read(body)
    with meanwhile(
        db,
        lambda session: submission.submit(
            session,
            sweep,
            expansion.cells(sweep, None),
            request_digest=digest(body),
            idempotency_key=KEY,
        ),
        lambda: client.post("/v1/sweeps", json=body, headers={"Idempotency-Key": KEY}),
    ) as (_, answer):
        pass
    assert answer.result().status_code == 200, answer.result().text


def test_a_migration_waits_for_another_migration_and_lets_the_next_go_on(database_url: str) -> None:
    db, other = Database(database_url), Database(database_url)
    looks = text(
        "SELECT query_start FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid != pg_backend_pid() AND query LIKE '%pg_try_advisory_lock%'"
    )
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as holder:
        holder.execute(text(f"SELECT pg_advisory_lock({ADVISORY_LOCK})"))
        migrating = threading.Thread(target=migrate, args=(other,))
        migrating.start()
        seen: set[Any] = set()

        def looked_twice() -> bool:
            seen.update(holder.scalars(looks))
            return len(seen) > 1

        until(looked_twice, 20, lambda: f"looked at {seen}")
        assert holder.scalar(text("SELECT to_regclass('experiments')")) is None
        holder.execute(text(f"SELECT pg_advisory_unlock({ADVISORY_LOCK})"))
        migrating.join(60)
        assert holder.scalar(text("SELECT to_regclass('experiments')")) is not None
        assert holder.scalar(text(f"SELECT pg_try_advisory_lock({ADVISORY_LOCK})"))
    db.close()
    other.close()
