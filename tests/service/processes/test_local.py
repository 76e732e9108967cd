"""``normbench up`` ends in order, is alone in its directory, runs no foreign code, and replaces processes that die."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sqlalchemy import select

from service.fleet.tables import Worker
from service.processes import supervisor
from service.processes.stand_by import StandBy
from service.processes.startup import prepare
from service.processes.supervisor import Supervisor
from service.settings import Settings, read_settings
from tests.processes import Service, service, until

ENDLESS: dict[str, Any] = {"training": {"max_steps": 1_000_000, "eval_every": 10, "target": None}}
NEVER = 3600  # seconds; no lease runs out in a test


def foreign_modules(folder: Path) -> Path:
    """Write packages with the names of ours and of others into a folder; return the file that exists after one was
    imported."""
    ran = folder / "ran"
    for name in ("workers", "service", "normcore", "migrations", "normbench", "torch", "celery", "logging"):
        package = folder / name
        package.mkdir()
        (package / "__init__.py").write_text(f"open({str(ran)!r}, 'a').write('{name} ')\n")
    return ran


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for many tests, as each start costs seconds. A test that ends the service starts it again."""
    folder = tmp_path_factory.mktemp("local")
    foreign_modules(folder)
    with service(folder, checkpoint_seconds=0.5, lease_seconds=NEVER, heartbeat_seconds=0.5) as running:
        yield running


@pytest.fixture
def local(shared: Service) -> Iterator[Service]:
    """The shared service, which runs and has no work. A training without an end would compute beside later tests."""
    shared.up()
    yield shared
    shared.cancel_all()


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def stand_by(local: Service, up: subprocess.Popen[bytes]) -> psutil.Process:
    """The stand-by worker, after its fork server has started."""
    at_work = local.worker_pid()

    def find() -> psutil.Process | None:
        waiting = [process for process in psutil.Process(up.pid).children() if process.pid != at_work]
        return next((process for process in waiting if process.children()), None)

    found: psutil.Process = until(find, 60, local.logs)
    return found


def test_up_without_the_device_of_its_workers_says_so_and_ends(tmp_path: Path) -> None:
    with service(tmp_path) as running:
        assert running.start("up", "--port", str(running.port), "--device", "cuda:63").wait(90) == 2
        assert "cannot train on cuda:63 here; name another with --device" in running.logs()
        with pytest.raises(httpx.TransportError):
            running.http.get("/healthz")


def test_processes_of_a_cluster_import_nothing_from_the_current_directory_and_end_well(tmp_path: Path) -> None:
    ran = foreign_modules(tmp_path)
    with service(tmp_path) as running:
        processes = running.cluster()
        assert running.wait_ended(running.submit())["state"] == "succeeded"
        for name, process in processes.items():
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0, f"{name}: {running.logs()}"
    assert not ran.exists(), ran.read_text()


def test_up_imports_nothing_from_the_current_directory(local: Service) -> None:
    assert local.wait_ended(local.submit())["state"] == "succeeded"
    ran = local.folder / "ran"
    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_up_that_is_told_to_stop_gives_its_run_back_and_leaves_no_process(
    local: Service, number: signal.Signals
) -> None:
    up = local.up()
    training = local.submit(**ENDLESS)
    local.wait_for_step(training, 10)
    below = psutil.Process(up.pid).children(recursive=True)
    assert len(below) >= 3, "a worker, its fork server, a training process"
    up.send_signal(number)
    following = local.start_up()  # without waiting: it waits itself
    assert up.wait(60) == 0, local.logs()
    assert [process for process in below if is_alive(process)] == []
    assert local.up() == following, local.logs()
    run = local.wait_for(training, lambda run: run["state"] == "running" and run["resumed_from_step"])
    assert [entry["lost"] for entry in run["history"]] == [False]


def test_a_killed_fork_server_disturbs_no_training_and_is_replaced(local: Service) -> None:
    victim = local.submit(**ENDLESS)
    local.wait_for_step(victim, 10)
    training = local.training_process()
    killed = training.parent()
    assert killed is not None
    killed.kill()

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


def test_a_stand_by_replaces_a_killed_worker_and_gets_a_stand_by_itself(tmp_path: Path) -> None:
    with service(tmp_path, checkpoint_seconds=0.5, lease_seconds=NEVER, heartbeat_seconds=0.5, stand_by=True) as local:
        up = local.up()
        victim = local.submit(**ENDLESS)
        local.wait_for_step(victim, 10)
        waiting = stand_by(local, up)
        psutil.Process(local.worker_pid()).kill()
        local.wait_for(victim, lambda run: run["attempt"] == 2 and run["state"] == "running")
        assert local.worker_pid() == waiting.pid
        stand_by(local, up).kill()
        psutil.Process(local.worker_pid()).kill()
        local.wait_for(victim, lambda run: run["attempt"] == 3 and run["state"] == "running")
        below = psutil.Process(up.pid).children(recursive=True)
        up.terminate()
        assert up.wait(60) == 0, local.logs()
        assert [process for process in below if is_alive(process)] == []


def test_a_second_up_in_the_same_directory_names_the_first_and_ends(local: Service) -> None:
    first = local.up()
    second = local.start("up", "--port", "0")
    assert second.wait(60) == 2
    assert f"`normbench up` runs in {local.folder / 'data'} already (process {first.pid})" in local.logs()
    first.kill()
    first.wait(10)
    local.up()


class Supervised:
    """A supervisor in this process, and the workers that it has started."""

    def __init__(self, folder: Path) -> None:
        self.settings = read_settings(Settings, data_dir=folder)
        self.db = prepare(self.settings)
        self.supervisor = Supervisor(self.db, self.settings, "cpu", cannot_work=lambda: None)
        self._seen = {""}

    def next_worker(self) -> int:
        """The process id of a worker that this method has not returned before."""

        def find() -> Worker | None:
            with self.db.snapshot() as session:
                return session.scalar(select(Worker).where(Worker.id.not_in(self._seen)))

        worker = until(find, 60, str)
        self._seen.add(worker.id)
        return int(worker.pid)


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    supervised = Supervised(tmp_path)
    yield supervised
    supervised.supervisor.stop()
    supervised.db.close()


def test_workers_killed_at_work_are_replaced_without_a_pause_and_have_no_stand_by_unless_asked_for(
    supervised: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_bys: list[StandBy] = []
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", (0.0, NEVER))
    monkeypatch.setattr(supervisor, "SETTLED_SECONDS", 0.0)
    monkeypatch.setattr(StandBy, "fill", lambda self: stand_bys.append(self))
    supervised.supervisor.start(1)
    for _ in range(2):
        os.kill(supervised.next_worker(), signal.SIGKILL)
    supervised.next_worker()
    assert stand_bys == []


def test_workers_are_started_again_after_no_process_could_be_started(
    supervised: Supervised, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", (0.1,))
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/gone/python")
        supervised.supervisor.start(1)
        until(lambda: caplog.text.count("no worker can be started: ") > 1, 30, lambda: caplog.text)
    supervised.next_worker()


def test_a_stand_by_that_cannot_be_started_or_dies_is_started_again(
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
    spare.fill()
    spare.stop()
    assert waiting() == []
