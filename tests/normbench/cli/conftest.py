"""Fixtures of the command line: a service that commands find, or a machine without one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from normbench.cli import command
from service.settings import Settings
from tests.servers import free_port
from tests.service.live import live_api


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One database, since these tests are the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


@pytest.fixture
def environment(settings: Settings) -> dict[str, str]:
    return {
        "NORMBENCH_DATA_DIR": str(settings.data_dir),
        "NORMBENCH_DATABASE_URL": settings.database_url,
        "NORMBENCH_DATASETS_DIR": str(settings.datasets_dir),
        "NORMBENCH_BROKER_URL": settings.broker_url,
        "NORMBENCH_ARTIFACTS_URL": settings.artifacts_url,
        "NORMBENCH_API_KEY": "",
        "COLUMNS": "200",
    }


@pytest.fixture
def api(settings: Settings, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A live service that the commands find."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with live_api(settings) as url:
        monkeypatch.setenv("NORMBENCH_URL", url)
        yield url


@pytest.fixture
def nobody(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no service runs."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NORMBENCH_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr(command, "PATIENCE", 0.0)


@pytest.fixture
def spec_file(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text("task: {name: permuted_digits, profile: smoke}\nnorm: {method: layer_norm}\nseeds: [0, 1]\n")
    return path
