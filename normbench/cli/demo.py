"""Command ``normbench demo``: start a service, train some methods on it, and show the leaderboard."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from normbench.cli import command, watching
from normbench.cli.background import Service
from normbench.cli.command import INTERRUPTED, Json
from normbench.cli.operators import service_settings, writable
from normbench.cli.servers import usual_port
from normbench.client import DEFAULT_URL, Client
from normbench.display import progress
from normbench.display.leaderboard import leaderboard
from normbench.display.verdict import verdict
from normbench.errors import NormbenchError

TASK, PROFILE, SEEDS = "permuted_digits", "small", [0, 1, 2, 3, 4]  # five can tell methods apart, three cannot
METHODS = ("none", "layer_norm", "recurrent_batch_norm")
BASELINE = METHODS.index("none")


def demo(
    port: Annotated[
        int, typer.Option(help="Port of the service that the demo starts; 0 for a free one.", callback=usual_port)
    ] = 8000,
    as_json: Json = False,
) -> None:
    """Start the service, train three methods with five seeds each on real digits, show the leaderboard and its verdict.

    The 15 runs take some minutes on 2 cores. In a terminal, the service then
    goes on until Ctrl-C, so that you can open its pages.
    """
    command.require("server", "worker")
    with service_settings() as settings:
        data_dir = settings.data_dir
    stays = not as_json and sys.stdout.isatty()
    fingerprints: list[str] = []
    told = ""
    try:
        with _service(data_dir, port, as_json) as (client, service):
            port = urlsplit(client.url).port or port  # port 0 has become the one that was free
            fingerprints = _train_methods(client, as_json)
            board = client.leaderboard(TASK, profile=PROFILE)
            told = verdict(client.compare(*fingerprints, baseline=fingerprints[BASELINE]), board["metric"])
            command.show(as_json, board, leaderboard(board))
            if stays:
                typer.echo(f"\n{told}\n\n{pages(port, fingerprints)}")
                service.wait()
    except KeyboardInterrupt:
        if not told:
            command.note(f"stopped; the experiments are kept in {data_dir}; to continue them:")
            typer.echo(f"  {_start(data_dir, port)}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    if not as_json:
        typer.echo(f"\n{advice(data_dir, port, fingerprints)}\n\n{told}")


def pages(port: int, fingerprints: Sequence[str]) -> str:
    """Message with the addresses of pages that the running service has for a browser."""
    return (
        f"Open in a browser:\n\n{_addresses(port, fingerprints)}\n\n"
        "The service goes on, also for normbench submit in another terminal. Ctrl-C stops it."
    )


def _addresses(port: int, fingerprints: Sequence[str]) -> str:
    """Addresses of pages: the board, the comparison of the entries with these fingerprints, all pages, the API."""
    url = f"http://127.0.0.1:{port}"
    compared = "&".join(f"fingerprint={fingerprint[:12]}" for fingerprint in fingerprints)
    return f"  {url}/boards/{TASK}?profile={PROFILE}\n  {url}/compare?{compared}\n  {url}/\n  {url}/docs"


def advice(data_dir: Path, port: int, fingerprints: Sequence[str]) -> str:
    """Message with commands that show the results again. They can be copied as they are."""
    url = f"http://127.0.0.1:{port}"
    own, at = _own_name(), "" if url == DEFAULT_URL else f"NORMBENCH_URL={url} "
    return (
        f"The results stay in {data_dir}. To see more of them, start the service again:\n\n"
        f"  {_start(data_dir, port)}\n\n"
        "and, while the service runs, in another terminal:\n\n"
        f"  {at}{own} leaderboard {TASK} --profile {PROFILE} --rank-by steps_to_target\n"
        f"  {at}{own} status\n"
        f"  {at}{own} open {TASK} --profile {PROFILE}\n\n"
        f"or in a browser:\n\n{_addresses(port, fingerprints)}"
    )


def _start(data_dir: Path, port: int) -> str:
    """Command that starts the demo's service again. It can be copied as it is."""
    where = f"NORMBENCH_DATA_DIR={shlex.quote(str(data_dir))} " if "NORMBENCH_DATA_DIR" in os.environ else ""
    return f"{where}{_own_name()} up --port {port}"


def _own_name() -> str:
    """Name of the command that started this process."""
    called = Path(sys.argv[0]).absolute()
    if called.name != "normbench":
        return f"{shlex.quote(sys.executable)} -P -m normbench"
    found = shutil.which("normbench")
    return "normbench" if found and Path(found).absolute() == called else shlex.quote(str(called))


def _train_methods(client: Client, as_json: bool) -> list[str]:
    """Train the methods of the demo, and return the fingerprints of their entries, in the order of the methods.

    Raises:
        NormbenchError: a run did not succeed.
    """
    specs = [
        {"task": {"name": TASK, "profile": PROFILE}, "norm": {"method": method}, "seeds": SEEDS} for method in METHODS
    ]
    submitted = [client.submit(spec) for spec in specs]
    ids = [experiment["id"] for experiment in submitted]
    typer.echo(f"Watch the curves of {', '.join(METHODS)} in a browser:", err=as_json)
    for id in ids:
        typer.echo(f"  {client.url}/experiments/{id}", err=as_json)
    for experiment in progress.watch(client, ids, command.console(err=as_json)):
        watching.complain(experiment)
        if experiment["state"] != "succeeded":
            raise NormbenchError(f"{experiment['id']} {experiment['state']}; the log of the service may say more")
    return [experiment["fingerprint"] for experiment in submitted]


@contextmanager
def _service(data_dir: Path, port: int, as_json: bool) -> Iterator[tuple[Client, "subprocess.Popen[bytes]"]]:
    """Start ``normbench up``; give a client of it and its process, and stop the process in the end.

    Raises:
        NormbenchError: the data directory cannot be written to, or the service does not start.
    """
    log = data_dir / "demo.log"
    with writable(data_dir):
        log.unlink(missing_ok=True)
        service = Service("--port", str(port), log=log, stays=False)
    try:
        typer.echo(f"Starting the service (data in {data_dir}, log in {log.name}) …", err=as_json)
        with Client(service.ready()) as client:
            yield client, service.process
    finally:
        service.stop()
