"""The demo's advice can be typed as it stands."""

import os
import re
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from normbench.cli import app, demo
from service.db import Database
from service.settings import Settings
from tests.normbench.cli.commands import SECONDS, command_process
from tests.processes import until
from tests.servers import free_port
from tests.service.live import live_api


@pytest.mark.parametrize("called", ["normbench", "__main__.py"])
def test_the_demos_advice_works_as_it_stands_wherever_it_is_copied(
    called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / "with a space"
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(data_dir))
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).with_name(called))])
    board: Any = {"entries": [{"fingerprint": letter * 64} for letter in "abc"]}
    lines = [line.strip() for line in demo.advice(data_dir, 8765, board).splitlines() if line.startswith("  ")]
    compared = "&".join(f"fingerprint={letter * 12}" for letter in "abc")
    assert f"http://127.0.0.1:8765/compare?{compared}" in lines
    start, *look = [line for line in lines if not line.startswith("http")]
    assert shlex.split(start)[0] == f"NORMBENCH_DATA_DIR={data_dir}"
    assert shlex.split(start)[-3:] == ["up", "--port", "8765"]
    assert look
    assert all(line.startswith("NORMBENCH_URL=http://127.0.0.1:8765 ") for line in look)
    for line in (start, look[0]):
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        helped = subprocess.run(
            ["sh", "-c", f"{line} --help"], cwd="/", env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        assert helped.returncode == 0, helped.stderr


def test_the_demo_works_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("NORMBENCH_DATA_DIR", "data"), ("XDG_CACHE_HOME", "cache"), ("PATH", "empty")):
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr(demo, "PROFILE", "smoke")
    monkeypatch.setattr(demo, "SEEDS", [0])
    result = CliRunner().invoke(app, ["demo", "--port", str(free_port())])
    assert result.exit_code == 0, result.output
    for method in demo.METHODS:
        assert method in result.stdout
        assert re.search(rf"http://127\.0\.0\.1:\d+/experiments/exp_\w+  {method}\n", result.stdout)
    last = result.stdout.rstrip().splitlines()[-1]
    assert re.fullmatch(r"(layer_norm|recurrent_batch_norm) .* none: accuracy 0\.\d+ against 0\.\d+, .*1 seed\)?", last)
    log = (tmp_path / "data" / "demo.log").read_text()
    assert log.count("there is no g++; install it") == 1
    assert not re.search(r"Traceback|ERROR", log)
    assert not re.search(r"Traceback|ERROR|kernel|g\+\+", result.output)


def test_the_service_of_the_demo_stays_until_ctrl_c_in_a_terminal(tmp_path: Path) -> None:
    port = free_port()
    script = (
        "from normbench.cli import app, demo\n"
        f"demo.PROFILE, demo.SEEDS = 'smoke', [0]\napp(['demo', '--port', '{port}'])\n"
    )
    ours, its = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, "NORMBENCH_DATA_DIR": str(tmp_path), "COLUMNS": "80"},
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    told = _read(ours, until="Ctrl-C stops it.")
    [compared] = re.findall(r"^  (http\S+/compare\?\S+)\r$", told, re.MULTILINE)
    for address in (compared, f"http://127.0.0.1:{port}/"):
        assert httpx.get(address).status_code == 200
    os.killpg(process.pid, signal.SIGINT)
    told = _read(ours, until="/docs")
    assert process.wait(SECONDS) == 0
    assert f"The results stay in {tmp_path}." in told
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/")
    os.close(ours)


def _read(terminal: int, until: str) -> str:
    """Text that is written to a terminal, until ``until`` appears."""
    told = ""
    while until not in told:
        assert select.select([terminal], [], [], SECONDS)[0], told
        told += os.read(terminal, 65536).decode(errors="replace")
    return told


def test_ctrl_c_says_that_everything_has_stopped_and_how_to_go_on(tmp_path: Path) -> None:
    port = free_port()
    process = command_process({"NORMBENCH_DATA_DIR": str(tmp_path)}, "demo", "--port", str(port))

    def trains() -> bool:
        try:
            queues = httpx.get(f"http://127.0.0.1:{port}/v1/queue").json()["items"]
        except httpx.TransportError:
            return False
        return any(queue["running"] for queue in queues)

    until(trains, SECONDS, str)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    note, start = told.splitlines()[-2:]
    assert note == f"note: stopped; the experiments are kept in {tmp_path}; to continue them:"
    assert start.endswith(f" -m normbench up --port {port}")
    assert "watch" not in told, "nobody is there to be watched"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_demo_submits_nothing_on_the_port_of_another_service(
    settings: Settings, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(tmp_path / "own"))
    with live_api(settings) as url:
        result = CliRunner().invoke(app, ["demo", "--port", url.rpartition(":")[2]])
        assert httpx.get(f"{url}/v1/experiments").json()["items"] == []
    assert result.exit_code == 2
    assert "the service ended with status 2" in result.output
    assert "cannot listen on" in result.output
