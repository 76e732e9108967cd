"""Settings of every process of the service, read once at the door from ``NORMBENCH_*`` variables."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from kombu.transport import TRANSPORT_ALIASES
from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from normcore.data.folders import user_data_dir


def _absolute(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:  # ~somebody who has no home
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


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class Settings(BaseSettings):
    """Where state lives, and the times by which lost work is noticed. Defaults need no server at all."""

    model_config = SettingsConfigDict(env_prefix="NORMBENCH_", env_ignore_empty=True, frozen=True, extra="ignore")

    data_dir: AbsolutePath = Field(default_factory=user_data_dir)
    datasets_dir: AbsolutePath = Field(default_factory=lambda before: before["data_dir"] / "datasets")
    database_url: Annotated[str, AfterValidator(_database)] = Field(
        default_factory=lambda before: f"sqlite:///{before['data_dir'] / 'normbench.db'}"
    )
    broker_url: Annotated[str, AfterValidator(_broker)] = "filesystem://localhost"
    artifacts_url: str = Field(default_factory=lambda before: str(before["data_dir"] / "artifacts"))

    lease_seconds: PositiveFloat = 15.0  # a run belongs to its worker for so long after a heartbeat
    heartbeat_seconds: PositiveFloat = 5.0
    max_attempts: PositiveInt = 5  # a run lost so many times fails
    scheduler_seconds: PositiveFloat = 1.0  # between two looks at what was lost
    ring_again_seconds: PositiveFloat = 5.0  # a queued run's message counts as missing after so long
    visibility_timeout_seconds: PositiveInt = 3600  # Redis; the same for every process
    broker_polling_seconds: PositiveFloat = 0.1  # of the broker that needs no server
    max_body_bytes: PositiveInt = 1_000_000


class InvalidSettings(ValueError):
    """A ``NORMBENCH_*`` variable has no usable value; the message names it."""


S = TypeVar("S", bound=Settings)


def read_settings(kind: type[S], **overrides: Any) -> S:
    """Settings from the environment; ``overrides`` (from the command line) win where they are not None.

    Raises:
        InvalidSettings: naming every variable that is wrong.
    """
    try:
        return kind(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        raise InvalidSettings(
            "; ".join(_complaint(str(e["loc"][0]), e["input"], e["msg"]) for e in error.errors())
        ) from None


def _complaint(name: str, given: Any, message: str) -> str:
    shown = "" if name.endswith("_url") else f"={given!r}"  # a URL may hold a password
    return f"NORMBENCH_{name.upper()}{shown}: {message}"
