"""A service that is started in the background listens and has a worker when the command returns."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from service.processes.sole_use import sole_use
from tests.normbench.cli.commands import SECONDS, command_process
from tests.processes import until
from tests.servers import free_port

STOP_SECONDS = 60.0


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {"NORMBENCH_DATA_DIR": str(tmp_path / "data")}


@pytest.fixture
def detached(variables: dict[str, str]) -> Iterator[dict[str, str]]:
    """Output of ``up --detach --json``."""
    process = command_process(variables, "up", "--detach", "--port", str(free_port()), "--json")
    printed, complaint = process.communicate(timeout=2 * SECONDS)
    assert process.returncode == 0, complaint
    told = json.loads(printed)
    yield told
    if psutil.pid_exists(told["pid"]):
        os.kill(told["pid"], signal.SIGTERM)
        until(lambda: not psutil.pid_exists(told["pid"]), STOP_SECONDS, lambda: Path(told["log"]).read_text())


def test_a_script_can_submit_as_soon_as_the_command_returns(
    detached: dict[str, str], variables: dict[str, str], spec_file: Path
) -> None:
    assert httpx.get(f"{detached['url']}/readyz").status_code == 200
    assert len(httpx.get(f"{detached['url']}/v1/workers").json()["items"]) == 1
    submitted = command_process({"NORMBENCH_URL": detached["url"]}, "submit", str(spec_file), "--wait")
    printed, complaint = submitted.communicate(timeout=SECONDS)
    assert submitted.returncode == 0, complaint
    assert "no worker" not in printed + complaint
    again = command_process(variables, "up", "--detach", "--port", str(free_port()))
    printed, complaint = again.communicate(timeout=SECONDS)
    assert (again.returncode, printed) == (2, "")
    assert complaint.startswith("normbench: the service ended with status 2; ")
    assert f"runs in {variables['NORMBENCH_DATA_DIR']} already (process {detached['pid']})" in complaint
    stopped = subprocess.run(["kill", str(detached["pid"])], check=False)
    assert stopped.returncode == 0
    until(lambda: not _answers(detached["url"]), STOP_SECONDS, lambda: Path(detached["log"]).read_text())


def _answers(url: str) -> bool:
    try:
        httpx.get(f"{url}/healthz")
    except httpx.TransportError:
        return False
    return True


def test_a_service_that_cannot_start_ends_the_command_with_its_log(variables: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        process = command_process(variables, "up", "--detach", "--port", port)
        printed, complaint = process.communicate(timeout=SECONDS)
    assert (process.returncode, printed) == (2, "")
    log = Path(variables["NORMBENCH_DATA_DIR"]) / "up.log"
    assert complaint.startswith(f"normbench: the service ended with status 2; {log} says:\n")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in complaint
    assert "Traceback" not in complaint


def test_a_wait_for_a_service_that_is_ending_is_told(variables: dict[str, str]) -> None:
    data_dir = Path(variables["NORMBENCH_DATA_DIR"])
    with sole_use(data_dir, print) as begin_to_end:
        begin_to_end()
        process = command_process(variables, "up", "--detach", "--port", str(free_port()))
        assert process.stderr is not None
        told = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
    assert told == f"note: waiting for the `normbench up` (process {os.getpid()}) in {data_dir}, which is ending\n"
    assert process.returncode == 130


def test_a_worker_that_cannot_train_on_its_device_ends_the_command_with_its_log(variables: dict[str, str]) -> None:
    port = str(free_port())
    process = command_process(variables, "up", "--detach", "--port", port, "--device", "cuda:9")
    printed, complaint = process.communicate(timeout=2 * SECONDS)
    assert (process.returncode, printed) == (2, "")
    assert complaint.startswith("normbench: the service ended with status 2; ")
    assert "normbench worker: cannot train on cuda:9 here; name another with --device" in complaint
    assert not _answers(f"http://127.0.0.1:{port}")
