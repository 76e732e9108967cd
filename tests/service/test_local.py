"""``normbench up``: it ends in order, is alone in its directory, runs nobody else's code, and replaces what dies."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.processes import Service, service, until

ENDLESS: dict[str, Any] = {"training": {"max_steps": 1_000_000, "eval_every": 5, "target": None}}
NEVER = 3600  # seconds; no lease runs out in a test


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Service]:
    with service(tmp_path, checkpoint_seconds=0.5, lease_seconds=NEVER) as running:
        yield running


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_gives_the_run_back_leaves_no_process_and_ends_well(
    local: Service, number: signal.Signals
) -> None:
    up = local.up()
    training = local.submit(**ENDLESS)
    local.wait_for_step(training, 10)
    below = psutil.Process(up.pid).children(recursive=True)
    assert len(below) >= 3, "a worker, its fork server, a training process"
    up.send_signal(number)
    assert up.wait(60) == 0, local.logs()
    assert [process for process in below if is_alive(process)] == []
    local.up()
    run = local.wait_for(training, lambda run: run["state"] == "running" and run["resumed_from_step"])
    assert [entry["lost"] for entry in run["history"]] == [False]


def test_an_api_and_a_scheduler_told_to_stop_end_well(tmp_path: Path) -> None:
    with service(tmp_path) as running:
        processes = [running.start("api", "--port", str(running.port)), running.start("scheduler")]
        until(lambda: running.logs().count("\n== ") == 1 and "scheduler running" in running.logs(), 60, running.logs)
        running.wait_ready()
        for process in processes:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0, running.logs()


def test_a_killed_worker_is_replaced_at_once_with_all_that_it_held(local: Service) -> None:
    """No lease runs out here: that its worker is gone is known without."""
    up = local.up()
    victim = local.submit(**ENDLESS)
    local.wait_for_step(victim, 10)
    psutil.Process(local.worker_pid()).kill()
    local.wait_for(victim, lambda run: run["attempt"] == 2 and run["resumed_from_step"])
    for process in psutil.Process(up.pid).children(recursive=True):
        process.kill()
    run = local.wait_for(victim, lambda run: run["attempt"] == 3 and run["state"] == "running")
    assert [entry["reason"].split()[-1] for entry in run["history"]] == ["ended", "ended"]
    assert len(local.get("/v1/workers")["items"]) == 1, "the dead ones are not shown"


def test_a_killed_fork_server_disturbs_no_training_and_is_replaced(tmp_path: Path) -> None:
    with service(tmp_path, checkpoint_seconds=0.5, heartbeat_seconds=0.5) as local:
        local.up()
        victim = local.submit(**ENDLESS)
        local.wait_for_step(victim, 10)
        training = local.training_process()
        killed = training.parent()
        assert killed is not None
        killed.kill()

        def has_another() -> bool:
            family = psutil.Process(local.worker_pid()).children(recursive=True)
            return any("forkserver" in " ".join(p.cmdline()) and p.pid != killed.pid for p in family)

        until(has_another, 30, local.logs)
        step = local.run_of(victim)["progress"]["step"]
        assert local.wait_for_step(victim, step + 10)["attempt"] == 1
        local.http.post(f"/v1/experiments/{victim['id']}/cancel")
        local.wait_ended(victim)
        assert local.wait_ended(local.submit())["state"] == "succeeded"


def test_a_second_one_in_the_same_directory_names_the_first_and_ends(local: Service) -> None:
    first = local.up()
    second = local.start("up", "--port", "0")
    assert second.wait(60) == 2
    assert f"`normbench up` runs in {local.folder / 'data'} already (process {first.pid})" in local.logs()
    first.kill()
    first.wait(10)
    local.up()


def test_without_the_device_that_its_workers_need_it_says_so_and_ends(local: Service) -> None:
    assert local.start("up", "--port", str(local.port), "--device", "cuda:63").wait(90) == 2
    assert "cannot train on cuda:63 here; name another with --device" in local.logs()
    with pytest.raises(httpx.TransportError):
        local.http.get("/healthz")


@pytest.mark.parametrize("command", [("up",), ("api", "scheduler", "worker")])
def test_what_stands_in_the_current_directory_never_runs(local: Service, command: tuple[str, ...]) -> None:
    for name in ("workers", "service", "normcore", "migrations", "normbench", "torch", "celery", "logging"):
        package = local.folder / name
        package.mkdir()
        (package / "__init__.py").write_text(f"open({str(local.folder / 'ran')!r}, 'a').write('{name} ')\n")
    port = ("--port", str(local.port))
    for name in command:
        local.start(name, *(port if name in ("up", "api") else ()))
    local.wait_ready()
    assert local.wait_ended(local.submit())["state"] == "succeeded"
    assert not (local.folder / "ran").exists(), (local.folder / "ran").read_text()
