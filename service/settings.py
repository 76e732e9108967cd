"""Settings of every process of the service, read once at the door from ``NORMBENCH_*`` variables."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from platformdirs import user_data_path
from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _with_driver(url: str) -> str:
    """PostgreSQL URLs come without a driver; ours is psycopg."""
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class Settings(BaseSettings):
    """Where state lives, and the times by which lost work is noticed. Defaults need no server at all."""

    model_config = SettingsConfigDict(env_prefix="NORMBENCH_", env_ignore_empty=True, frozen=True, extra="ignore")

    data_dir: AbsolutePath = Field(default_factory=lambda: user_data_path("normbench"))
    datasets_dir: AbsolutePath = Field(default_factory=lambda before: before["data_dir"] / "datasets")
    database_url: Annotated[str, AfterValidator(_with_driver)] = Field(
        default_factory=lambda before: f"sqlite:///{before['data_dir'] / 'normbench.db'}"
    )
    broker_url: str = "filesystem://localhost"
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
        wrong = [f"NORMBENCH_{str(e['loc'][0]).upper()}={e['input']!r}: {e['msg']}" for e in error.errors()]
        raise InvalidSettings("; ".join(wrong)) from None
