"""The service's processes start, or say why they cannot."""

import json
import signal
import sys

import httpx
import pytest
from typer.testing import CliRunner

from normbench.cli import app
from tests.normbench.cli.commands import SECONDS, command_process, from_json, normbench
from tests.servers import free_port


def test_the_database_can_be_brought_up_to_date(nobody: None) -> None:
    assert from_json("migrate") == {"database": "up to date"}


@pytest.mark.parametrize(
    ("arguments", "changes", "named"),
    [
        (["migrate"], {"NORMBENCH_LEASE_SECONDS": "soon"}, "NORMBENCH_LEASE_SECONDS"),
        *(
            (arguments, {"NORMBENCH_DATA_DIR": "/proc/normbench"}, "set NORMBENCH_DATA_DIR to a directory")
            for arguments in (["migrate"], ["up", "--detach"], ["demo"])
        ),
    ],
)
def test_a_command_that_cannot_start_says_why_in_one_line(
    nobody: None, monkeypatch: pytest.MonkeyPatch, arguments: list[str], changes: dict[str, str], named: str
) -> None:
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    told = normbench(*arguments, status=2)
    assert named in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "changes", "named"),
    [
        (["up"], {"NORMBENCH_DATA_DIR": "/proc/normbench"}, "set NORMBENCH_DATA_DIR to a directory"),
        (["api", "--host", "0.0.0.0"], {}, "normbench keys create"),
    ],
)
def test_a_process_that_cannot_start_says_why_in_one_line(
    environment: dict[str, str], arguments: list[str], changes: dict[str, str], named: str
) -> None:
    process = command_process({**environment, **changes}, *arguments)
    printed, complaint = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert printed == ""
    assert complaint.startswith("normbench: ")
    assert named in complaint
    assert len(complaint.splitlines()) == 1


def test_the_api_tells_where_it_listens_and_stops_when_told_to(environment: dict[str, str]) -> None:
    port = free_port()
    process = command_process(environment, "api", "--port", str(port), "--json")
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"url": f"http://127.0.0.1:{port}"}
        taken = command_process(environment, "api", "--port", str(port))
        assert "--port" in taken.communicate(timeout=SECONDS)[1]
        assert taken.returncode == 2
    finally:
        process.send_signal(signal.SIGTERM)
        _, complaint = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert complaint == ""


def test_the_service_and_its_clients_use_the_port_of_the_environment(
    nobody: None, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("NORMBENCH_PORT", str(port))
    monkeypatch.delenv("NORMBENCH_URL")
    process = command_process({**environment, "NORMBENCH_PORT": str(port)}, "api", "--json")
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"url": f"http://127.0.0.1:{port}"}
        assert from_json("status") == []
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)


@pytest.mark.parametrize("command", ["up", "api", "demo", "status"])
def test_an_invalid_port_is_named_with_its_variable(
    nobody: None, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("NORMBENCH_PORT", "http")
    monkeypatch.delenv("NORMBENCH_URL")
    result = CliRunner().invoke(app, [command])
    assert result.exit_code == 2
    assert "NORMBENCH_PORT=http: expected a port" in " ".join(result.stderr.replace("│", " ").split())


def test_port_0_chooses_a_free_port_and_the_printed_url_answers(environment: dict[str, str]) -> None:
    process = command_process(environment, "api", "--host", "::1", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert httpx.get(f"{url}/healthz", timeout=SECONDS).status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)


@pytest.mark.parametrize(
    ("absent", "arguments", "extra"),
    [
        ("fastapi", ["api"], "server"),
        ("sqlalchemy", ["keys", "list"], "server"),
        ("torch", ["worker"], "worker"),
        ("torch", ["up"], "all"),
        ("torch", ["demo"], "all"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    nobody: None, monkeypatch: pytest.MonkeyPatch, absent: str, arguments: list[str], extra: str
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    told = normbench(*arguments, status=2)
    assert f"({absent})" in told
    assert f"pip install 'normbench[{extra}]'" in told


def test_an_invalid_device_is_refused_before_anything_starts(nobody: None) -> None:
    result = CliRunner().invoke(app, ["up", "--device", "gpu"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'gpu' is not a device" in result.stderr
