"""Any sequence of verbs, whoever calls them, leaves the runs in the states that the state diagram says."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from normcore.spec import resolve
from service.db import Database
from service.experiments import lifecycle, submission
from service.experiments.lifecycle import Lease, LeaseLost
from service.experiments.tables import Run
from service.experiments.turns import AT_ONCE
from service.processes.migrate import migrate
from tests.service.sample_runs import ALL_QUEUES, result_of, started, written

MAX_ATTEMPTS = 2
MAX_RUNS = 3  # few, so that many verbs meet each run


@cache
def empty_database() -> bytes:
    """A file of SQLite with the service's tables, all empty."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "normbench.db"
        db = Database(f"sqlite:///{file}")
        migrate(db)
        db.close()
        return file.read_bytes()


@dataclass
class ExpectedRun:
    """The state of a run that the state diagram expects."""

    experiment_id: str
    priority: int
    turn: int
    state: str = "queued"
    attempt: int = 1
    times_lost: int = 0
    resumed_from: int = 0
    cancel_requested: bool = False
    expired: bool = False
    paused: bool = False

    def give_back(self, *, turn: int = AT_ONCE, lost: int = 0, paused: bool = False) -> None:
        if self.cancel_requested:
            self.state = "cancelled"
        else:
            self.state, self.attempt, self.times_lost = "queued", self.attempt + 1, self.times_lost + lost
            self.turn, self.paused = turn, paused

    def lose(self) -> None:
        if not self.cancel_requested and self.times_lost + 1 >= MAX_ATTEMPTS:
            self.state = "failed"
        else:
            self.give_back(lost=1)


class StateDiagram(RuleBasedStateMachine):
    experiments = Bundle("experiments")
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name) / "normbench.db"
        file.write_bytes(empty_database())
        self.db = Database(f"sqlite:///{file}")
        self.runs: dict[str, ExpectedRun] = {}

    def teardown(self) -> None:
        self.db.close()
        self.folder.cleanup()

    @precondition(lambda self: len(self.runs) < MAX_RUNS)
    @rule(target=experiments, n_seeds=st.integers(1, 2), priority=st.sampled_from([0, 5, 9]))
    def submit(self, n_seeds: int, priority: int) -> str:
        spec, turn = resolve(written(seeds=range(n_seeds), priority=priority)), self.turn_of_a_newcomer(priority)
        with self.db.transaction() as session:
            experiment, _ = submission.submit(session, spec, memory_bytes=None, request_digest="d")
        self.runs |= {
            run.id: ExpectedRun(experiment.id, priority, turn + 2 * k) for k, run in enumerate(experiment.runs)
        }
        return experiment.id

    def turn_of_a_newcomer(self, priority: int) -> int:
        ready = [run for run in self.runs.values() if run.state == "queued" and not run.paused]
        waiting = [run for run in ready if run.turn != AT_ONCE]
        return min((run.turn + 1 for run in waiting if run.priority == priority), default=0)

    @rule(target=leases, seconds=st.sampled_from([-1.0, 600.0]))
    def claim(self, seconds: float) -> object:
        ready = {id: run for id, run in self.runs.items() if run.state == "queued" and not run.paused}
        queued = [(-run.priority, run.turn, id) for id, run in ready.items()]
        with self.db.transaction() as session:
            claim = lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk", lease_seconds=seconds)
        if not queued:
            assert claim is None
            return multiple()
        assert claim is not None
        *_, first = min(queued)
        run = self.runs[first]
        assert claim.lease == Lease(first, run.attempt, seconds)
        assert claim.resumed_from == run.resumed_from
        run.state, run.expired = "running", seconds < 0
        return claim.lease

    def write(self, lease: Lease, verb: Callable[[Session], object]) -> ExpectedRun | None:
        """Call a worker's verb; the run if it must have worked, None if it must have been refused."""
        run = self.runs[lease.run_id]
        holds = run.state == "running" and run.attempt == lease.attempt
        try:
            with self.db.transaction() as session:
                verb(session)
        except LeaseLost:
            assert not holds
            return None
        assert holds
        return run

    @rule(lease=leases, step=st.sampled_from([0, 10, 20]))
    def begin(self, lease: Lease, step: int) -> None:
        if run := self.write(
            lease, lambda s: lifecycle.start(s, lease, started(step), device="cpu", resumed_from=step)
        ):
            run.times_lost = 0 if step > run.resumed_from else run.times_lost
            run.resumed_from = step

    @rule(lease=leases, saved=st.sampled_from([0, 10, 20]))
    def record(self, lease: Lease, saved: int) -> None:
        heard: list[bool] = []

        def verb(session: Session) -> None:
            heard.append(lifecycle.record(session, lease, [], step=1, seconds=1.0, pace=None, saved=saved))

        if run := self.write(lease, verb):
            assert heard == [run.cancel_requested]
            run.expired = lease.seconds < 0
            run.times_lost = 0 if saved > run.resumed_from else run.times_lost

    @rule(lease=leases)
    def finish(self, lease: Lease) -> None:
        if run := self.write(lease, lambda s: lifecycle.finish(s, lease, "completed", result_of())):
            run.state = "succeeded"

    @rule(lease=leases)
    def fail(self, lease: Lease) -> None:
        if run := self.write(lease, lambda s: lifecycle.fail(s, lease, "broken")):
            run.state = "failed"

    @rule(lease=leases)
    def stop_as_asked(self, lease: Lease) -> None:
        if run := self.write(lease, lambda s: lifecycle.confirm_cancel(s, lease)):
            run.state = "cancelled"

    @rule(lease=leases)
    def release(self, lease: Lease) -> None:
        if run := self.write(lease, lambda s: lifecycle.release(s, lease, "stops")):
            run.give_back()

    @rule(lease=leases)
    def defer(self, lease: Lease) -> None:
        if run := self.write(lease, lambda s: lifecycle.defer(s, lease, "disk full")):
            run.give_back(turn=run.turn, paused=True)

    @rule()
    def pauses_end(self) -> None:
        with self.db.transaction() as session:
            session.execute(update(Run).values(not_before=1.0).where(Run.not_before.is_not(None)))
            lifecycle.end_pauses(session)
        for _, run in sorted((id, run) for id, run in self.runs.items() if run.state == "queued" and run.paused):
            run.turn = max([*self.turns_behind(run.experiment_id), self.turn_of_a_newcomer(run.priority)])
            run.paused = False

    def turns_behind(self, experiment_id: str) -> list[int]:
        own = [run for run in self.runs.values() if (run.experiment_id, run.state) == (experiment_id, "queued")]
        return [run.turn + 2 for run in own if not run.paused]

    @rule(lease=leases)
    def lose(self, lease: Lease) -> None:
        if run := self.write(lease, lambda s: lifecycle.lose(s, lease, "died", max_attempts=MAX_ATTEMPTS)):
            run.lose()

    @rule()
    def take_back(self) -> None:
        expired = {id: run for id, run in self.runs.items() if run.state == "running" and run.expired}
        with self.db.transaction() as session:
            notifications = lifecycle.take_back(session, max_attempts=MAX_ATTEMPTS)
        for run in expired.values():
            run.lose()
        assert {notification.run_id for notification in notifications} == {
            id for id, run in expired.items() if run.state == "queued"
        }

    @rule(experiment_id=experiments)
    def cancel(self, experiment_id: str) -> None:
        with self.db.transaction() as session:
            lifecycle.cancel(session, experiment_id)
        for run in self.runs.values():
            if run.experiment_id == experiment_id and run.state in lifecycle.WAITING:
                run.state = "cancelled" if run.state == "queued" else run.state
                run.cancel_requested = True

    @rule(experiment_id=experiments)
    def retry(self, experiment_id: str) -> None:
        ended = {
            id: run
            for id, run in self.runs.items()
            if run.experiment_id == experiment_id and run.state in ("failed", "cancelled")
        }
        turns = [self.turn_of_a_newcomer(run.priority) for run in ended.values()]
        with self.db.transaction() as session:
            notifications = lifecycle.retry(session, experiment_id)
        assert [notification.run_id for notification in notifications] == sorted(ended)
        for k, id in enumerate(sorted(ended)):
            run = ended[id]
            run.state, run.attempt, run.times_lost, run.cancel_requested = "queued", run.attempt + 1, 0, False
            run.turn, run.paused = turns[0] + 2 * k, False

    @invariant()
    def every_run_is_where_the_diagram_says(self) -> None:
        with self.db.snapshot() as session:
            stored = {run.id: run for run in session.scalars(select(Run))}
        assert stored.keys() == self.runs.keys()
        for id, expected in self.runs.items():
            run = stored[id]
            assert (run.state, run.attempt, run.times_lost) == (expected.state, expected.attempt, expected.times_lost)
            assert (run.cancel_requested, run.turn) == (expected.cancel_requested, expected.turn)
            assert (run.worker_id is not None) == (run.lease_expires_at is not None) == (run.state == "running")
            assert (run.finished_at is not None) == (run.state in lifecycle.ENDED)
            assert (run.error is not None) == (run.state == "failed")
            assert (run.result is not None) == (run.state == "succeeded")


TestStateDiagram = StateDiagram.TestCase
TestStateDiagram.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
