"""Every program refuses a misspelt variable and names the right variable."""

import pytest

from normcore.variables import (
    CLIENT,
    KNOWN,
    OTHERS,
    SERVICE,
    WORKERS,
    MisspeltVariable,
    WrongVariable,
    check_variables,
    default_port,
)
from service.settings import Settings
from workers.settings import WorkerSettings


def test_the_list_holds_every_setting_and_nothing_twice() -> None:
    assert set(SERVICE) == {name.upper() for name in Settings.model_fields}
    assert set(WORKERS) == {name.upper() for name in set(WorkerSettings.model_fields) - set(Settings.model_fields)}
    assert len(KNOWN) == len((*SERVICE, *WORKERS, *CLIENT, *OTHERS))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NORMBENCH_DATASET_DIR", "NORMBENCH_DATASETS_DIR"),
        ("NORMBENCH_URLL", "NORMBENCH_URL"),
        ("NORMBENCH_APIKEY", "NORMBENCH_API_KEY"),
        ("normbench_thread", "NORMBENCH_THREADS"),
        ("NORMBENCH_DATA", "NORMBENCH_DATA_DIR"),
        ("NORMBENCH_KEY", "NORMBENCH_API_KEY"),
        ("NORMBENCH_DB_URL", "NORMBENCH_DATABASE_URL"),
        ("NORMBENCH_LEASE", "NORMBENCH_LEASE_SECONDS"),
        ("NORMBENCH_HOSTS", "NORMBENCH_ALLOWED_HOSTS"),
    ],
)
def test_a_misspelt_variable_is_refused_with_the_one_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(MisspeltVariable, match=rf"{name}: did you mean [A-Z_ or]*{meant}\b"):
        check_variables({name: "1", "HOME": "/"})


def test_all_misspelt_variables_are_named_at_once() -> None:
    with pytest.raises(MisspeltVariable, match=r"NORMBENCH_URLL.*NORMBENCH_LEASE_SECOND:"):
        check_variables({"NORMBENCH_URLL": "", "NORMBENCH_LEASE_SECOND": ""})


KUBERNETES = (
    *("SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_8000_TCP", "PORT_8000_TCP_ADDR", "API_PORT"),
    *("API_SERVICE_HOST", "API_PORT_8000_TCP_PROTO", "SCHEDULER_SERVICE_HOST", "DATABASE_SERVICE_PORT"),
)


@pytest.mark.parametrize("name", [*sorted(KNOWN), *KUBERNETES, "BIN", "url"])
def test_known_and_unrelated_variables_are_accepted(name: str) -> None:
    check_variables({f"NORMBENCH_{name}": "", "ENCH_URLL": ""})


@pytest.mark.parametrize(
    ("written", "port"),
    [(None, 8000), ("", 8000), ("8100", 8100), ("0", 0), ("65535", 65535), ("tcp://10.0.0.1:8000", 8000)],
)
def test_port_is_read_from_its_variable_unless_kubernetes_wrote_an_address(written: str | None, port: int) -> None:
    assert default_port({} if written is None else {"NORMBENCH_PORT": written}) == port


@pytest.mark.parametrize("written", ["65536", "-1", "http", "80.5", "８０"])
def test_invalid_port_is_refused(written: str) -> None:
    with pytest.raises(WrongVariable, match=rf"NORMBENCH_PORT={written}: expected a port, a number from 0 to 65535"):
        default_port({"NORMBENCH_PORT": written})
