"""Common part of operators' commands: the service's settings, and errors of the service as errors of the client."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from normbench.cli.command import require
from normbench.errors import NormbenchError

if TYPE_CHECKING:
    from service.settings import Settings


@contextmanager
def service_settings() -> Iterator["Settings"]:
    """Give the service's settings; errors of the service inside the block are raised as ``NormbenchError``.

    Raises:
        Missing: the service is not installed here.
        NormbenchError: a setting is wrong, or the service cannot work here.
    """
    require("server")
    from service.errors import ServiceError
    from service.processes.startup import StartupError
    from service.settings import InvalidSettings, Settings, read_settings

    try:
        yield read_settings(Settings)
    except (InvalidSettings, ServiceError, StartupError) as error:
        raise NormbenchError(str(error)) from None


@contextmanager
def writable(data_dir: Path) -> Iterator[None]:
    """Make the data directory if it is missing; errors of files inside the block are raised as ``NormbenchError``.

    Raises:
        NormbenchError: the directory cannot be made, or a file in it cannot be written.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise NormbenchError(
            f"cannot write to the data directory {data_dir}: {error.strerror};"
            " set NORMBENCH_DATA_DIR to a directory with space that this user may write to"
        ) from None
