"""Workers are notified again of runs whose message seems lost."""

from service.db import Database
from service.experiments import lifecycle
from service.experiments.tables import Run
from tests.service.experiments.lifecycle.verbs import database_time
from tests.service.sample_runs import claimed, finished, submitted


def notified_again(db: Database, idle: dict[str, int], after_seconds: float) -> list[str]:
    with db.transaction() as session:
        return sorted(
            notification.run_id
            for notification in lifecycle.notify_again(session, idle=idle, after_seconds=after_seconds)
        )


def test_only_queues_with_idle_workers_are_notified_again_and_once_for_each_worker(db: Database) -> None:
    cpu = submitted(db, seeds=range(3), device="cpu")
    cuda = submitted(db, device="cuda")
    assert notified_again(db, {}, after_seconds=-1) == []
    assert notified_again(db, {"cpu": 2}, after_seconds=-1) == [run.id for run in cpu.runs[:2]]
    assert notified_again(db, {"auto": 1, "cuda": 5}, after_seconds=-1) == [cuda.runs[0].id]


def test_a_run_is_not_notified_again_before_its_last_message_is_some_time_ago(db: Database) -> None:
    experiment = submitted(db)
    run_id = experiment.runs[0].id
    assert notified_again(db, {"auto": 1}, after_seconds=60) == []
    with db.transaction() as session:
        session.get_one(Run, run_id).notified_at = database_time(db) - 61
    assert notified_again(db, {"auto": 1}, after_seconds=60) == [run_id]
    assert notified_again(db, {"auto": 1}, after_seconds=60) == [], "the notification itself counts as the last message"


def test_only_queued_runs_are_notified_again(db: Database) -> None:
    submitted(db, seeds=[0, 1])
    claimed(db)
    finished(db, claimed(db).lease)
    assert notified_again(db, {"auto": 9}, after_seconds=-1) == []
