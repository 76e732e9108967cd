"""``normbench up`` ends in order, is alone in its directory, and replaces processes that die."""

import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select

from service.db import Database
from service.experiments.tables import Run
from service.fleet.tables import Worker
from service.processes import supervisor
from service.processes.sole_use import sole_use
from service.processes.stand_by import StandBy
from service.processes.startup import StartupError, prepare
from service.processes.supervisor import Supervisor
from service.settings import Settings, read_settings
from tests.processes import Service, service, until

ENDLESS: dict[str, Any] = {"training": {"max_steps": 1_000_000, "eval_every": 10, "target": None}}
NEVER = 3600  # seconds; no lease runs out in a test


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for many tests, as each start costs seconds."""
    folder = tmp_path_factory.mktemp("local")
    with service(folder, checkpoint_seconds=0.5, lease_seconds=NEVER, heartbeat_seconds=0.5) as running:
        yield running


@pytest.fixture
def local(shared: Service) -> Iterator[Service]:
    """The shared service, running. At the end its work is cancelled, which would compute beside later tests."""
    shared.up()
    yield shared
    shared.cancel_all()


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_killed_fork_server_disturbs_no_training_and_is_replaced(local: Service) -> None:
    victim = local.submit(**ENDLESS)
    local.wait_for_step(victim, 10)
    training = local.training_process()
    killed = training.parent()
    assert killed is not None
    killed.kill()
    until(lambda: not is_alive(killed), 10, str)  # its training looks like a fork server while it is below the worker

    def has_another() -> bool:
        family = filter(is_alive, psutil.Process(local.worker_pid()).children(recursive=True))
        return any("forkserver" in " ".join(p.cmdline()) and p.pid != killed.pid for p in family)

    until(has_another, 30, local.logs)
    step = local.run_of(victim)["progress"]["step"]
    assert local.wait_for_step(victim, step + 10)["attempt"] == 1
    local.http.post(f"/v1/experiments/{victim['id']}/cancel")
    local.wait_ended(victim)
    assert local.wait_ended(local.submit())["state"] == "succeeded"


def test_a_killed_worker_is_replaced_at_once_with_all_that_it_held(local: Service) -> None:
    """The service knows without a lease that the worker is gone."""
    up = local.up()
    victim = local.submit(**ENDLESS)
    local.wait_for_step(victim, 10)
    psutil.Process(local.worker_pid()).kill()
    local.wait_for(victim, lambda run: run["attempt"] == 2 and run["resumed_from_step"])
    for process in psutil.Process(up.pid).children(recursive=True):
        process.kill()
    run = local.wait_for(victim, lambda run: run["attempt"] == 3 and run["state"] == "running")
    assert [entry["reason"].split()[-1] for entry in run["history"]] == ["ended", "ended"]
    until(lambda: local.get("/v1/workers")["items"], 10, local.logs)  # a busy machine keeps its heartbeats waiting
    assert len(local.get("/v1/workers")["items"]) == 1, "the dead ones are not shown"


def test_up_is_alone_and_on_a_signal_gives_its_run_back_and_leaves_no_process(shared: Service) -> None:
    """The last test of the shared service, which has ended after it."""
    up = shared.up()
    alone = pytest.raises(StartupError, match=rf"runs in .* already \(process {up.pid}\)")
    with alone, sole_use(shared.data_dir, note=print):
        pass
    training = shared.submit(**ENDLESS)
    shared.wait_for_step(training, 10)
    end(shared, signal.SIGTERM, following=True)
    run = shared.wait_for(training, lambda run: run["state"] == "running" and run["resumed_from_step"])
    assert [entry["lost"] for entry in run["history"]] == [False]
    end(shared, signal.SIGINT)
    with closing(Database(f"sqlite:///{shared.data_dir}/normbench.db")) as db, db.snapshot() as session:
        stored = session.get_one(Run, run["id"])
        assert (stored.state, [entry["lost"] for entry in stored.history]) == ("queued", [False, False])


def end(local: Service, number: signal.Signals, *, following: bool = False) -> None:
    """Send a signal to ``normbench up`` alone; check that it ends well, and all its processes with it. A ``following``
    one is started at once, and waits for that end."""
    up = local.up()
    below = psutil.Process(up.pid).children(recursive=True)
    assert len(below) >= 3, "a worker, its fork server, a training process"
    up.send_signal(number)
    another = local.start_up() if following else None
    assert up.wait(60) == 0, local.logs()
    assert [process for process in below if is_alive(process)] == []
    assert another is None or local.up() == another, local.logs()


class Supervision:
    """A supervisor in this process, and the workers that it has started."""

    def __init__(self, folder: Path) -> None:
        self.settings = read_settings(Settings, data_dir=folder)
        self.db = prepare(self.settings)
        self._others = psutil.Process().children()
        self._seen = {""}

    def start(self, **changes: object) -> None:
        settings = self.settings.model_copy(update=changes)
        self.supervisor = Supervisor(self.db, settings, "cpu", cannot_work=lambda: None)
        self.supervisor.start(1)

    def next_worker(self) -> psutil.Process:
        """A worker that this method has not returned before."""

        def find() -> Worker | None:
            with self.db.snapshot() as session:
                return session.scalar(select(Worker).where(Worker.id.not_in(self._seen)))

        worker = until(find, 60, str)
        self._seen.add(worker.id)
        return psutil.Process(worker.pid)

    def next_process(self, *known: psutil.Process) -> psutil.Process:
        """A process that the supervisor has started and that is not ``known``."""

        def find() -> psutil.Process | None:
            return next((p for p in psutil.Process().children() if p not in (*self._others, *known)), None)

        process: psutil.Process = until(find, 60, str)
        return process

    def stop(self) -> None:
        """Stop the supervisor, and check that no process is left."""
        below = [p for p in psutil.Process().children() if p not in self._others]
        below += [child for process in below for child in process.children(recursive=True)]
        self.supervisor.stop()
        self.db.close()
        assert [process for process in below if is_alive(process)] == []


@pytest.fixture
def supervised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervision]:
    """A supervisor that replaces workers at once if they were killed at work, and after other failures never."""
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", (0.0, NEVER))
    monkeypatch.setattr(supervisor, "SETTLED_SECONDS", 0.0)
    supervised = Supervision(tmp_path)
    yield supervised
    supervised.stop()


def test_a_stand_by_replaces_a_killed_worker_and_gets_a_stand_by_itself(supervised: Supervision) -> None:
    supervised.start(stand_by=True)
    first = supervised.next_worker()
    second = supervised.next_process(first)
    first.kill()
    assert supervised.next_worker() == second
    supervised.next_process(first, second)


def test_a_killed_worker_is_replaced_at_once_and_has_no_stand_by_unless_asked_for(
    supervised: Supervision, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_bys: list[StandBy] = []
    monkeypatch.setattr(StandBy, "fill", lambda self: stand_bys.append(self))
    supervised.start()
    supervised.next_worker().kill()
    supervised.next_worker()
    assert stand_bys == []


def test_workers_are_started_again_after_no_process_could_be_started(
    supervised: Supervision, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", (0.1,))
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/gone/python")
        supervised.start()
        until(lambda: caplog.text.count("no worker can be started: ") > 1, 30, lambda: caplog.text)
    supervised.next_process()


def test_a_stand_by_that_cannot_be_started_or_dies_is_started_again_and_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("service.processes.stand_by.STAND_BY_SECONDS", 0.0)
    spare = StandBy(read_settings(Settings, data_dir=tmp_path), "cpu")
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/gone/python")
        spare.fill()
    assert "no worker stands by: " in caplog.text

    # The command line cannot tell: a process has none for a moment after its start.
    others = psutil.Process().children()

    def waiting() -> list[psutil.Process]:
        return [child for child in psutil.Process().children() if child not in others and is_alive(child)]

    for _ in range(2):
        spare.fill()
        (worker,) = waiting()
        spare.fill()
        assert waiting() == [worker], "one at most"
        worker.kill()
        until(lambda: not waiting(), 10, str)
    taken = spare.take()
    assert [process.pid for process in waiting()] == [taken.process.pid], "not one that has died"
    taken.end()
    spare.fill()
    spare.stop()
    assert waiting() == []
