"""A worker that can work sends heartbeats; a worker that cannot says why, once, and ends."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from service.fleet.registration import MISSED_HEARTBEATS
from tests.processes import service, until


def test_a_worker_without_work_stays_known_by_its_heartbeats(tmp_path: Path) -> None:
    with service(tmp_path, heartbeat_seconds=1) as idle:
        idle.work()
        (first,) = until(lambda: idle.get("/v1/workers")["items"], 30, idle.logs)
        beats = {first["heartbeat_at"]}

        def has_outlived_a_silence() -> bool:
            beats.update(worker["heartbeat_at"] for worker in idle.get("/v1/workers")["items"])
            return len(beats) > MISSED_HEARTBEATS + 2

        until(has_outlived_a_silence, 30, idle.logs)
        (worker,) = idle.get("/v1/workers")["items"]
        assert (worker["id"], worker["pid"], worker["run_id"]) == (first["id"], first["pid"], None)


def test_a_device_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with service(tmp_path) as broken:
        assert broken.start("worker", "--device", "cuda:63").wait(60) == 2
        assert "cannot train on cuda:63 here; name another with --device" in broken.logs()


def test_an_invalid_device_is_refused_by_its_setting(tmp_path: Path) -> None:
    with service(tmp_path, device="tpu") as broken:
        worker = broken.start("worker")
        assert worker.wait(60) == 2
        assert "NORMBENCH_DEVICE='tpu'" in broken.logs()
        until(lambda: not session_of(worker.pid), 0.1, lambda: f"not ended with the worker: {session_of(worker.pid)}")


def session_of(leader: int) -> list[psutil.Process]:
    """Processes that a process has started and that live on, such as its fork server, which imports for seconds."""
    family = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                family.append(process)
    return family


@pytest.mark.parametrize("told", [b"", b"\n"], ids=["standing by", "told to begin"])
def test_a_worker_whose_parent_ends_during_its_start_ends(tmp_path: Path, told: bytes) -> None:
    with service(tmp_path) as orphaned:
        command = [sys.executable, "-P", "-m", "workers", "--device", "cpu", "--follow-stdin"]
        worker = subprocess.run(command, env=orphaned.environment, input=told, timeout=60, check=False)
        assert worker.returncode == 0
