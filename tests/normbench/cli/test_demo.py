"""The demo's advice can be typed as it stands."""

import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app, demo
from service.db import Database
from service.experiments.lifecycle import ClaimedRun
from service.settings import Settings
from tests.normbench.cli.commands import SECONDS, command_process
from tests.processes import until
from tests.servers import free_port
from tests.service.comparisons.test_routes import trained
from tests.service.live import live_api
from tests.service.sample_runs import begun, finished, measured, recorded, worker


@pytest.mark.parametrize("called", ["normbench", "__main__.py"])
def test_the_demos_advice_works_as_it_stands_wherever_it_is_copied(
    called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / "with a space"
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(data_dir))
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).with_name(called))])
    advice = demo.advice(data_dir, 8765, [letter * 64 for letter in "abc"])
    lines = [line.strip() for line in advice.splitlines() if line.startswith("  ")]
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


WORTH = {"none": 0.5, "layer_norm": 0.7, "recurrent_batch_norm": 0.6}


@pytest.fixture
def trains_at_once(api: str, db: Database, monkeypatch: pytest.MonkeyPatch) -> str:
    """A demo on a live service, whose runs end at once; the service's URL."""

    @contextmanager
    def service(*_: object) -> Iterator[tuple[Client, None]]:
        with worker(db, partial(_ended, db)), Client(api) as client:
            yield client, None

    for name, value in (("PROFILE", "smoke"), ("SEEDS", [0, 1, 2]), ("_service", service)):
        monkeypatch.setattr(demo, name, value)
    return api


def _ended(db: Database, run: ClaimedRun) -> None:
    """End a run with its method's value in ``WORTH``, and 0.001 more per seed."""
    begun(db, run.lease)
    recorded(db, run.lease, measured(10))
    finished(db, run.lease, value=WORTH[run.spec["norm"]["method"]] + run.seed / 1000)


def test_the_demo_compares_its_own_entries_and_not_better_ones_of_the_same_board(
    trains_at_once: str, db: Database
) -> None:
    for gain in (0.2, 0.3, 0.4):
        norm = {"method": "recurrent_batch_norm", "gain_init": gain}
        trained(db, "recurrent_batch_norm", [0.91, 0.92, 0.93], [10, 10, 10], norm=norm)
    shown = CliRunner().invoke(app, ["demo"])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[-1].startswith("layer_norm is better than none: accuracy 0.701 against 0.501, p =")
    own = {experiment["name"]: experiment["fingerprint"] for experiment in Client(trains_at_once).experiments()}
    compared = "&".join(f"fingerprint={own[method][:12]}" for method in demo.METHODS)
    assert f"{trains_at_once}/compare?{compared}\n" in shown.stdout


def test_port_0_is_the_free_port_in_every_address_and_command_of_the_demo(trains_at_once: str) -> None:
    shown = CliRunner().invoke(app, ["demo", "--port", "0"])
    assert shown.exit_code == 0, shown.output
    assert set(re.findall(r"http://[^/\s]+", shown.stdout)) == {trains_at_once}
    assert f" up --port {trains_at_once.rpartition(':')[2]}\n" in shown.stdout


def test_the_demo_works_without_a_compiler_and_stays_until_ctrl_c_in_a_terminal(tmp_path: Path) -> None:
    port = free_port()
    script = (
        "from normbench.cli import app, demo\n"
        "demo.PROFILE, demo.SEEDS = 'smoke', [0]\n"
        f"app(['demo', '--port', '{port}'])\n"
    )
    folders = {name: str(tmp_path / name) for name in ("NORMBENCH_DATA_DIR", "XDG_CACHE_HOME", "PATH")}
    ours, its = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, **folders, "COLUMNS": "200"},
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    told = _read(ours, until="Ctrl-C stops it.")
    head = told.split("\r\n")[1:5]
    assert head[0] == f"Watch the curves of {', '.join(demo.METHODS)} in a browser:"
    assert all(re.fullmatch(rf"  http://127\.0\.0\.1:{port}/experiments/exp_\w{{26}}", line) for line in head[1:])
    assert max(map(len, head)) <= 80
    told_apart = r"\n(layer_norm|recurrent_batch_norm) .* none: accuracy 0\.\d+ against 0\.\d+, .*1 seed\)?\r"
    assert re.search(told_apart, told)
    [compared] = re.findall(r"^  (http\S+/compare\?\S+)\r$", told, re.MULTILINE)
    for address in (compared, f"http://127.0.0.1:{port}/"):
        assert httpx.get(address).status_code == 200
    os.killpg(process.pid, signal.SIGINT)
    told += _read(ours, until="/docs")
    assert process.wait(SECONDS) == 0
    assert f"The results stay in {folders['NORMBENCH_DATA_DIR']}." in told
    _assert_ended(port)
    os.close(ours)
    log = Path(folders["NORMBENCH_DATA_DIR"], "demo.log").read_text()
    assert log.count("there is no g++; install it") == 1
    assert not re.search(r"Traceback|ERROR", log)
    assert not re.search(r"Traceback|ERROR|kernel|g\+\+", told.replace("it compiles kernels", ""))


def _assert_ended(port: int) -> None:
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/")


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

    def has_submitted() -> bool:
        try:
            return len(httpx.get(f"http://127.0.0.1:{port}/v1/experiments").json()["items"]) == len(demo.METHODS)
        except httpx.TransportError:
            return False

    until(has_submitted, SECONDS, str)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    note, start = told.splitlines()[-2:]
    assert note == f"note: stopped; the experiments are kept in {tmp_path}; to continue them:"
    assert start.endswith(f" -m normbench up --port {port}")
    assert "watch" not in told, "nobody is there to be watched"
    _assert_ended(port)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_demo_submits_nothing_on_the_port_of_another_service(
    settings: Settings, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(tmp_path / "own"))
    with live_api(settings) as url:
        refused = CliRunner().invoke(app, ["demo", "--port", url.rpartition(":")[2]])
        assert httpx.get(f"{url}/v1/experiments").json()["items"] == []
    assert refused.exit_code == 2
    assert "the service ended with status 2" in refused.output
    assert "cannot listen on" in refused.output
