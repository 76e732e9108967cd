"""What the demo advises can be typed as it stands."""

import os
import re
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
from tests.normbench.cli.commands import SECONDS, command_process
from tests.processes import until
from tests.servers import free_port


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


def test_without_a_compiler_it_goes_on_as_it_does_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("NORMBENCH_DATA_DIR", "data"), ("XDG_CACHE_HOME", "cache"), ("PATH", "empty")):
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr(demo, "PROFILE", "smoke")
    monkeypatch.setattr(demo, "SEEDS", [0])
    result = CliRunner().invoke(app, ["demo", "--port", str(free_port())])
    assert result.exit_code == 0, result.output
    for method in demo.METHODS:
        assert method in result.stdout
        assert re.search(rf"http://127\.0\.0\.1:\d+/experiments/exp_\w+  {method}\n", result.stdout)
    log = (tmp_path / "data" / "demo.log").read_text()
    assert log.count("there is no g++; install it") == 1
    assert not re.search(r"Traceback|ERROR", log)
    assert not re.search(r"Traceback|ERROR|kernel|g\+\+", result.output)


def test_ctrl_c_says_that_all_has_stopped_and_how_it_goes_on(tmp_path: Path) -> None:
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
    assert note == f"note: stopped; what has begun is kept in {tmp_path} and goes on with"
    assert start.endswith(f" -m normbench up --port {port}")
    assert "watch" not in told, "nobody is there to be watched"
