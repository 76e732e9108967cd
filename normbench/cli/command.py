"""Common parts of all commands: output, failures, and the packages that they need."""

import functools
import json
import os
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Annotated, Any, Literal, ParamSpec, cast

import typer
from rich.console import Console

from normbench.client import Client
from normbench.errors import Invalid, Missing, NormbenchError
from normcore.spec import read_spec
from normcore.variables import MisspeltVariable, check_variables

PATIENCE = 2.0  # seconds that a command tries to reach the service
STANDARD_INPUT = Path("/dev/stdin")
PIPE_WIDTH = 100_000  # characters in a line for another program, so that no line is broken
BLANKS = re.compile(r" +(?=\n)")
FAILED, MISUSED, DIVERGED, DIFFERS, INTERRUPTED = 1, 2, 2, 3, 130  # exit statuses
NOTE = "note: "  # begins a note on standard error
NEEDED = {
    "server": ("fastapi", "sqlalchemy", "uvicorn"),
    "worker": ("sklearn", "sqlalchemy", "torch"),
    "nn": ("torch", "platformdirs", "filelock"),
}

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
P = ParamSpec("P")


def catch_errors(function: Callable[P, None]) -> Callable[P, None]:
    """Turn errors of the client and misspelt variables into a message and exit status 2. Ctrl-C exits with 130."""

    @functools.wraps(function)
    def command(*args: P.args, **options: P.kwargs) -> None:
        try:
            check_variables(os.environ)
            function(*args, **options)
        except (NormbenchError, MisspeltVariable) as error:
            complain(str(error))
            raise typer.Exit(MISUSED) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None

    return command


def client() -> Client:
    return Client(patience=PATIENCE)


def experiment_id(id: str) -> str:
    """Check that an id is not the id of a run.

    Raises:
        NormbenchError: it is the id of a run.
    """
    if id.startswith("run_"):
        raise NormbenchError(
            f"{id} is a run, but this command takes an experiment; see the run with `normbench logs {id}`"
        )
    return id


def is_sweep(id: str) -> bool:
    return id.startswith("swp_")


def run_id(id: str) -> str:
    """Check that an id is not the id of an experiment or sweep.

    Raises:
        NormbenchError: it is the id of an experiment or of a sweep.
    """
    if id.startswith("exp_"):
        raise NormbenchError(
            f"{id} is an experiment, but this command takes a run; `normbench status {id}` lists its runs"
        )
    if is_sweep(id):
        raise NormbenchError(
            f"{id} is a sweep, but this command takes a run; `normbench status {id}` lists its experiments"
        )
    return id


def standard_input_or(file: Path) -> Path:
    """Path of the file, or of standard input for ``-``."""
    return STANDARD_INPUT if str(file) == "-" else file


def read(file: Path) -> Any:
    """Read a YAML or JSON file.

    Raises:
        Invalid: the file cannot be read; the message names it.
    """
    try:
        return read_spec(file)
    except IsADirectoryError:
        raise Invalid(f"{file} is a folder; name its files, such as {file / '*.yaml'}") from None
    except OSError as error:
        raise Invalid(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise Invalid(str(error)) from None


def add_file_name(file: Path, error: NormbenchError) -> NormbenchError:
    """Error with the name of the file before each line of its message."""
    return NormbenchError("\n".join(f"{file}: {line}" for line in str(error).splitlines()))


def labels(written: Sequence[str]) -> dict[str, str]:
    """Parse labels that are written as KEY:VALUE.

    Raises:
        NormbenchError: a label is written in another way.
    """
    wrong = next((text for text in written if ":" not in text), None)
    if wrong is not None:
        raise NormbenchError(f"--label {wrong}: write it as KEY:VALUE")
    return dict(text.split(":", 1) for text in written)


def complain(text: str) -> None:
    typer.echo(f"normbench: {text}", err=True)


def say(as_json: bool, content: Any, text: str) -> None:
    """Print an answer: as JSON, or else as text."""
    typer.echo(json.dumps(content) if as_json else text)


def show(as_json: bool, content: Any, *shown: Any) -> None:
    """Print an answer: as JSON, or else as tables and text that rich draws."""
    if as_json:
        typer.echo(json.dumps(content))
        return
    for part in shown:
        console().print(part)


def console(*, err: bool = False) -> Console:
    """Console on standard output or standard error. If that is not a terminal, no line is cut or folded unless the
    variable COLUMNS gives a width, and no line ends with blanks.
    """
    found = Console(stderr=err, highlight=False)
    if found.is_terminal:
        return found
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else PIPE_WIDTH
    return Console(file=cast(IO[str], TrimmedStream(found.file)), highlight=False, width=width)


class TrimmedStream:
    """Stream that leaves out blanks at the ends of lines, which tables have."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def require(*extras: Literal["server", "worker", "nn"]) -> None:
    """Check that packages of an extra are installed.

    Raises:
        Missing: a package is missing that ``pip install normbench[…]`` installs.
    """
    missing = [module for extra in extras for module in NEEDED[extra] if find_spec(module) is None]
    if missing:
        wanted = "all" if len(extras) > 1 else extras[0]
        raise Missing(
            f"this command needs packages that are not installed here ({', '.join(dict.fromkeys(missing))});"
            f" get it with: pip install 'normbench[{wanted}]'"
        )


def note(text: str) -> None:
    """Print a note to standard error."""
    typer.echo(f"{NOTE}{text}", err=True)
