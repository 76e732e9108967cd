"""Settings come from NORMBENCH_* variables, and a wrong one is named."""

import os
from pathlib import Path
from typing import Any

import pytest

from service.settings import InvalidSettings, Settings, read_settings
from workers.settings import WorkerSettings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NORMBENCH_")]:
        monkeypatch.delenv(name)


def test_the_defaults_need_no_server_and_lie_in_the_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA_DIR", "/srv/normbench")
    settings = read_settings(Settings)
    assert settings.data_dir == Path("/srv/normbench")
    assert settings.datasets_dir == Path("/srv/normbench/datasets")
    assert settings.database_url == "sqlite:////srv/normbench/normbench.db"
    assert settings.broker_url == "filesystem://localhost"
    assert settings.artifacts_url == "/srv/normbench/artifacts"


def test_without_any_variable_state_lies_in_the_users_own_data_directory() -> None:
    assert read_settings(Settings).data_dir.is_absolute()
    assert read_settings(Settings).data_dir.name == "normbench"


GOOD: list[tuple[str, str, Any]] = [
    ("data_dir", "/srv/x", Path("/srv/x")),
    ("datasets_dir", "/data", Path("/data")),
    ("datasets_dir", "~/data", Path.home() / "data"),
    ("datasets_dir", "data", Path.cwd() / "data"),
    ("database_url", "postgresql://me:secret@db/normbench", "postgresql+psycopg://me:secret@db/normbench"),
    ("database_url", "postgres://db/normbench", "postgresql+psycopg://db/normbench"),
    ("database_url", "postgresql+psycopg://db/normbench", "postgresql+psycopg://db/normbench"),
    ("database_url", "sqlite:////srv/x.db", "sqlite:////srv/x.db"),
    ("broker_url", "redis://redis:6379/0", "redis://redis:6379/0"),
    ("artifacts_url", "s3://bucket/normbench", "s3://bucket/normbench"),
    ("lease_seconds", "7.5", 7.5),
    ("heartbeat_seconds", "2", 2.0),
    ("database_call_seconds", "2.5", 2.5),
    ("max_attempts", "9", 9),
    ("scheduler_seconds", "0.5", 0.5),
    ("notify_again_seconds", "3", 3.0),
    ("broker_polling_seconds", "0.01", 0.01),
    ("stand_by", "true", True),
    ("max_body_bytes", "1000", 1000),
    ("allowed_hosts", "bench.example.org, api", "bench.example.org, api"),
]


@pytest.mark.parametrize(("name", "given", "meant"), GOOD)
def test_every_setting_is_read_from_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, given: str, meant: Any
) -> None:
    monkeypatch.setenv(f"NORMBENCH_{name.upper()}", given)
    assert getattr(read_settings(Settings), name) == meant


def test_the_table_of_tested_variables_has_every_setting() -> None:
    assert {name for name, *_ in GOOD} == set(Settings.model_fields)


BAD: list[tuple[str, str]] = [
    ("data_dir", "~nobody-of-this-name/x"),
    ("database_url", "nonsense"),
    ("database_url", "mysql://db/normbench"),
    ("database_url", "sqlite://"),
    ("database_url", "postgresql+asyncpg://db/normbench"),
    ("database_url", "postgresql://db:port/normbench"),
    ("broker_url", "nonsense"),
    ("broker_url", "amqpp://host"),
    ("lease_seconds", "soon"),
    ("lease_seconds", "0"),
    ("lease_seconds", "nan"),
    ("heartbeat_seconds", "-1"),
    ("database_call_seconds", "0"),
    ("max_attempts", "0"),
    ("max_attempts", "2.5"),
    ("scheduler_seconds", "never"),
    ("notify_again_seconds", "0"),
    ("broker_polling_seconds", "0"),
    ("max_body_bytes", "-5"),
    ("allowed_hosts", "http://bench.example.org"),
    ("allowed_hosts", "bench.example.org:8000"),
]


@pytest.mark.parametrize(("name", "given"), BAD)
def test_an_invalid_setting_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, given: str
) -> None:
    monkeypatch.setenv(f"NORMBENCH_{name.upper()}", given)
    with pytest.raises(InvalidSettings, match=f"NORMBENCH_{name.upper()}"):
        read_settings(Settings)


def test_a_password_is_not_repeated_in_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATABASE_URL", "mysql://me:hunter2@db/normbench")
    with pytest.raises(InvalidSettings) as refusal:
        read_settings(Settings)
    assert "hunter2" not in str(refusal.value)


def test_all_wrong_settings_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_LEASE_SECONDS", "soon")
    monkeypatch.setenv("NORMBENCH_MAX_ATTEMPTS", "many")
    with pytest.raises(InvalidSettings, match=r"NORMBENCH_LEASE_SECONDS.*NORMBENCH_MAX_ATTEMPTS"):
        read_settings(Settings)


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_LEASE_SECONDS", "")
    assert read_settings(Settings).lease_seconds == 12.0


def test_the_command_line_wins_over_the_environment_where_it_says_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_MAX_ATTEMPTS", "2")
    assert read_settings(Settings, max_attempts=7).max_attempts == 7
    assert read_settings(Settings, max_attempts=None).max_attempts == 2


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NORMBENCH_LEASE_SECOND", "NORMBENCH_LEASE_SECONDS"),
        ("NORMBENCH_DATABSE_URL", "NORMBENCH_DATABASE_URL"),
        ("NORMBENCH_DATA_DIRECTORY", "NORMBENCH_DATA_DIR"),
        ("NORMBENCH_CHECKPOINT_SECS", "NORMBENCH_CHECKPOINT_SECONDS"),
        ("normbench_lease_secs", "NORMBENCH_LEASE_SECONDS"),
    ],
)
def test_a_misspelt_variable_is_refused_with_the_closest_known_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(InvalidSettings, match=f"{name}: did you mean {meant}"):
        read_settings(Settings)


LEASE_SECONDS = Settings.model_fields["lease_seconds"].default
OTHERS = ["URL", "API_KEY", "PORT", "SERVICE_HOST", "SERVICE_PORT", "PORT_8000_TCP", "TEST_DATABASE_URL", "BIN"]


@pytest.mark.parametrize("name", [*OTHERS, *(field.upper() for field in WorkerSettings.model_fields)])
def test_a_variable_of_another_program_is_ignored(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"NORMBENCH_{name}", "")
    assert read_settings(Settings).lease_seconds == LEASE_SECONDS


def test_hosts_are_listed_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings(Settings).hosts == frozenset()
    monkeypatch.setenv("NORMBENCH_ALLOWED_HOSTS", "Bench.example.org, api")
    assert read_settings(Settings).hosts == {"bench.example.org", "api"}


def test_the_embedded_broker_is_polled_at_least_every_50_milliseconds(
    tmp_path: Path,
) -> None:
    assert Settings(data_dir=tmp_path).broker_polling_seconds <= 0.05
