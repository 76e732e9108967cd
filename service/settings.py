"""Settings of every process of the service, read once at its start from ``NORMBENCH_*`` variables."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

from kombu.transport import TRANSPORT_ALIASES
from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from normcore.data.folders import user_data_dir
from normcore.variables import PREFIX, MisspeltVariable, check_variables


def _absolute(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:  # ~NAME of a user without a home
        raise ValueError(str(error)) from None


def _database(url: str) -> str:
    """PostgreSQL URLs come without a driver; ours is psycopg."""
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            url = "postgresql+psycopg://" + url.removeprefix(scheme)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError("is no URL; use sqlite:///FILE or postgresql://USER@HOST/NAME") from None
    if parsed.drivername == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ValueError("names no file, and processes cannot share memory; use sqlite:///FILE")
    if parsed.drivername not in ("sqlite", "postgresql+psycopg"):
        raise ValueError(f"is for {parsed.drivername}; use sqlite:///FILE or postgresql://USER@HOST/NAME")
    return url


def _broker(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in TRANSPORT_ALIASES:
        raise ValueError("is no broker's URL; use redis://HOST:PORT/NUMBER, or filesystem://localhost on one machine")
    return url


def _hosts(names: str) -> str:
    for name in names.split(",") if names else []:
        if not re.fullmatch(r"\*|[a-z0-9_]([a-z0-9_.\-]*[a-z0-9_])?", name.strip(), re.IGNORECASE):
            raise ValueError(f"{name.strip()!r} is no host's name; use names without port, with commas between, or *")
    return names


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class Settings(BaseSettings):
    """Settings: where state is stored, and after which times lost work is noticed. The defaults need no server."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    data_dir: AbsolutePath = Field(default_factory=user_data_dir)
    datasets_dir: AbsolutePath = Field(default_factory=lambda before: before["data_dir"] / "datasets")
    database_url: Annotated[str, AfterValidator(_database)] = Field(
        default_factory=lambda before: f"sqlite:///{before['data_dir'] / 'normbench.db'}"
    )
    broker_url: Annotated[str, AfterValidator(_broker)] = "filesystem://localhost"
    artifacts_url: str = Field(default_factory=lambda before: str(before["data_dir"] / "artifacts"))

    # A run whose worker died in a cluster is claimed again after at most lease + scheduler = 13 s and the time of a
    # message. A connection that falls silent costs no lease: heartbeat + call + 1 s until the next try = 10 s.
    lease_seconds: PositiveFloat = 12.0  # a run belongs to its worker for this time after a heartbeat
    heartbeat_seconds: PositiveFloat = 3.0
    database_call_seconds: PositiveFloat = 6.0  # a statement without an answer by then has failed
    max_attempts: PositiveInt = 5  # a run that is lost this often without a new checkpoint fails
    scheduler_seconds: PositiveFloat = 1.0  # between two looks at what was lost
    notify_again_seconds: PositiveFloat = 5.0  # after so long a queued run's message counts as lost
    broker_polling_seconds: PositiveFloat = 0.05  # of the broker in the data directory
    max_body_bytes: PositiveInt = 1_000_000
    allowed_hosts: Annotated[str, AfterValidator(_hosts)] = (
        ""  # host names that clients may use, separated by commas; * allows all
    )

    @property
    def hosts(self) -> frozenset[str]:
        """``allowed_hosts``, one by one, in lower case."""
        return frozenset(name.strip().lower() for name in self.allowed_hosts.split(",")) - {""}


class InvalidSettings(ValueError):
    """A ``NORMBENCH_*`` variable has an unusable value, or a misspelt name; the message names it."""


S = TypeVar("S", bound=Settings)


def read_settings(kind: type[S], **overrides: Any) -> S:
    """Settings from the environment; ``overrides`` (from the command line) win where they are not None.

    Raises:
        InvalidSettings: naming every variable that is wrong, or misspelt.
    """
    try:
        check_variables(os.environ)
        return kind(**{name: value for name, value in overrides.items() if value is not None})
    except MisspeltVariable as error:
        raise InvalidSettings(str(error)) from None
    except ValidationError as error:
        raise InvalidSettings(
            "; ".join(_complaint(str(e["loc"][0]), e["input"], e["msg"]) for e in error.errors())
        ) from None


def _complaint(name: str, given: Any, message: str) -> str:
    shown = "" if name.endswith("_url") else f"={given!r}"  # a URL may hold a password
    return f"{PREFIX}{name.upper()}{shown}: {message}"
