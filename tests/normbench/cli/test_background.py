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
from typer.testing import CliRunner

from normbench.cli import app
from service.processes.sole_use import sole_use
from tests.normbench.cli.commands import SECONDS, command_process, normbench
from tests.processes import until
from tests.servers import free_port

STOP_SECONDS = 60.0


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("NORMBENCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def detached(data_dir: Path) -> Iterator[dict[str, str]]:
    """Output of ``up --detach --json``."""
    environment = {"NORMBENCH_DATA_DIR": str(data_dir)}
    process = command_process(environment, "up", "--detach", "--port", str(free_port()), "--json")
    printed, complaint = process.communicate(timeout=2 * SECONDS)
    assert process.returncode == 0, complaint
    told = json.loads(printed)
    yield told
    if psutil.pid_exists(told["pid"]):
        os.kill(told["pid"], signal.SIGTERM)
        until(lambda: not psutil.pid_exists(told["pid"]), STOP_SECONDS, lambda: Path(told["log"]).read_text())


def test_a_script_can_submit_as_soon_as_the_command_returns(
    detached: dict[str, str], data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert httpx.get(f"{detached['url']}/readyz").status_code == 200
    assert len(httpx.get(f"{detached['url']}/v1/workers").json()["items"]) == 1
    monkeypatch.setenv("NORMBENCH_URL", detached["url"])
    spec = tmp_path / "spec.yaml"
    spec.write_text("task: {name: permuted_digits, profile: smoke}\nnorm: {method: layer_norm}\nseeds: [0]\n")
    submitted = CliRunner().invoke(app, ["submit", str(spec), "--wait"])
    assert submitted.exit_code == 0, submitted.output
    assert "no worker" not in submitted.output
    complaint = normbench("up", "--detach", "--port", free_port(), status=2)
    assert complaint.startswith("normbench: the service ended with status 2; ")
    assert f"runs in {data_dir} already (process {detached['pid']})" in complaint
    stopped = subprocess.run(["kill", str(detached["pid"])], check=False)
    assert stopped.returncode == 0
    until(lambda: not _answers(detached["url"]), STOP_SECONDS, lambda: Path(detached["log"]).read_text())


def _answers(url: str) -> bool:
    try:
        httpx.get(f"{url}/healthz")
    except httpx.TransportError:
        return False
    return True


def test_a_service_that_cannot_start_ends_the_command_with_its_log(data_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        complaint = normbench("up", "--detach", "--port", port, status=2)
    assert complaint.startswith(f"normbench: the service ended with status 2; {data_dir / 'up.log'} says:\n")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in complaint


def test_a_wait_for_a_service_that_is_ending_is_told(data_dir: Path) -> None:
    with sole_use(data_dir, print) as begin_to_end:
        begin_to_end()
        environment = {"NORMBENCH_DATA_DIR": str(data_dir)}
        process = command_process(environment, "up", "--detach", "--port", str(free_port()))
        assert process.stderr is not None
        told = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
    assert told == f"note: waiting for the `normbench up` (process {os.getpid()}) in {data_dir}, which is ending\n"
    assert process.returncode == 130


@pytest.mark.usefixtures("data_dir")
def test_a_worker_that_cannot_train_on_its_device_ends_the_command_with_its_log() -> None:
    port = free_port()
    complaint = normbench("up", "--detach", "--port", port, "--device", "cuda:63", status=2)
    assert complaint.startswith("normbench: the service ended with status 2; ")
    assert "normbench worker: cannot train on cuda:63 here; name another with --device" in complaint
    assert not _answers(f"http://127.0.0.1:{port}")
