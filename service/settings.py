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
    """Check a database URL, and name our driver, psycopg, in a PostgreSQL URL, which comes without a driver."""
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            url = "postgresql+psycopg://" + url.removeprefix(scheme)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError("is not a URL; use sqlite:///FILE or postgresql://USER@HOST/NAME") from None
    if parsed.drivername == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ValueError("is for a database in memory, which processes cannot share; use sqlite:///FILE")
    if parsed.drivername not in ("sqlite", "postgresql+psycopg"):
        raise ValueError(
            f"is for {parsed.drivername}, an unknown database; use sqlite:///FILE or postgresql://USER@HOST/NAME"
        )
    return url


def _broker(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in TRANSPORT_ALIASES:
        raise ValueError(
            "is not a broker's URL; use redis://HOST:PORT/NUMBER, or filesystem://localhost on one machine"
        )
    return url


def _hosts(names: str) -> str:
    for name in names.split(",") if names else []:
        if not re.fullmatch(r"\*|[a-z0-9_]([a-z0-9_.\-]*[a-z0-9_])?", name.strip(), re.IGNORECASE):
            raise ValueError(
                f"{name.strip()!r} is not a host name; write names without ports, with commas between, or *"
            )
    return names


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class Settings(BaseSettings):
    """Settings: where state is stored, and after which times lost work is noticed. The defaults need no server."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    data_dir: AbsolutePath = Field(
        default_factory=user_data_dir, description="Directory of everything that a service on one machine keeps."
    )
    datasets_dir: AbsolutePath = Field(
        default_factory=lambda before: before["data_dir"] / "datasets",
        description="Directory of the data sets; `datasets` in the data directory if it is not set.",
    )
    database_url: Annotated[str, AfterValidator(_database)] = Field(
        default_factory=lambda before: f"sqlite:///{before['data_dir'] / 'normbench.db'}",
        description="`sqlite:///FILE` or `postgresql://USER@HOST/NAME`; a file in the data directory if it is not set.",
    )
    broker_url: Annotated[str, AfterValidator(_broker)] = Field(
        "filesystem://localhost",
        description="`redis://HOST:PORT/NUMBER` for several machines; else files in the data directory.",
    )
    artifacts_url: str = Field(
        default_factory=lambda before: str(before["data_dir"] / "artifacts"),
        description="A directory that all machines share, or `s3://…`; `artifacts` in the data directory if not set.",
    )

    # A run whose worker died in a cluster is claimed again after at most lease + scheduler = 13 s and the time of a
    # message. A connection that falls silent costs no lease: heartbeat + call + 1 s until the next try = 10 s.
    lease_seconds: PositiveFloat = Field(
        12.0, description="A run belongs to its worker for this time after a heartbeat."
    )
    heartbeat_seconds: PositiveFloat = Field(3.0, description="Time between two heartbeats of a worker.")
    database_call_seconds: PositiveFloat = Field(
        6.0, description="A statement that has no answer after this time has failed."
    )
    max_attempts: PositiveInt = Field(5, description="A run that is lost this often without a new checkpoint fails.")
    scheduler_seconds: PositiveFloat = Field(1.0, description="Time between two looks at what was lost.")
    notify_again_seconds: PositiveFloat = Field(
        5.0, description="The message of a run that has waited this long in the queue counts as lost."
    )
    broker_polling_seconds: PositiveFloat = Field(
        0.05, description="Time between two looks at the broker in the data directory."
    )
    stand_by: bool = Field(
        False,
        description="Under `normbench up`, a spare worker that has imported everything replaces a worker that dies. It"
        " takes 350 MB of memory, and saves about 2 seconds when a worker dies.",
    )
    max_body_bytes: PositiveInt = Field(1_000_000, description="Largest body of a request.")
    allowed_hosts: Annotated[str, AfterValidator(_hosts)] = Field(
        "", description="Host names that clients may use, with commas between them; `*` allows all."
    )

    @property
    def hosts(self) -> frozenset[str]:
        """Names in ``allowed_hosts``, in lower case."""
        return frozenset(name.strip().lower() for name in self.allowed_hosts.split(",")) - {""}


class InvalidSettings(ValueError):
    """A ``NORMBENCH_*`` variable has an unusable value, or a misspelt name; the message names it."""


S = TypeVar("S", bound=Settings)


def read_settings(kind: type[S], **overrides: Any) -> S:
    """Read settings from the environment. Values in ``overrides`` (from the command line) take precedence if they are
    not None.

    Raises:
        InvalidSettings: a variable is wrong or misspelt; the message names every such variable.
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
