"""``normbench demo``: the whole path once, from nothing to a leaderboard."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from normbench.answers import Leaderboard
from normbench.cli import command, watching
from normbench.cli.background import Service
from normbench.cli.command import INTERRUPTED, Json
from normbench.cli.operators import service_settings
from normbench.cli.servers import usual_port
from normbench.client import DEFAULT_URL, Client
from normbench.display import progress
from normbench.display.leaderboard import leaderboard
from normbench.display.verdict import verdict
from normbench.errors import NormbenchError

TASK, PROFILE, SEEDS = "permuted_digits", "small", [0, 1, 2, 3, 4]  # five can tell methods apart, three cannot
METHODS = ("none", "layer_norm", "recurrent_batch_norm")


def demo(
    port: Annotated[int, typer.Option(help="Port of the service that the demo starts.", callback=usual_port)] = 8000,
    as_json: Json = False,
) -> None:
    """Start the service, train three methods with five seeds each on real digits, show the leaderboard and its verdict.

    The 15 runs take some minutes on 2 cores. In a terminal the service then stays for its pages, until Ctrl-C.
    """
    command.require("server", "worker")
    with service_settings() as settings:
        data_dir = settings.data_dir
    stays = not as_json and sys.stdout.isatty()
    board, told = None, ""
    try:
        with _service(data_dir, port, as_json) as (client, service):
            board = _trained(client, as_json)
            told = verdict(client.compare(*_fingerprints(board)), board["metric"])
            command.show(as_json, board, leaderboard(board))
            if stays:
                typer.echo(f"\n{told}\n\n{pages(port, board)}")
                service.wait()
    except KeyboardInterrupt:
        if board is None:
            command.note(f"stopped; what has begun is kept in {data_dir} and goes on with")
            typer.echo(f"  {_start(data_dir, port)}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    if not as_json:
        typer.echo(f"\n{advice(data_dir, port, board)}\n\n{told}")


def pages(port: int, board: Leaderboard) -> str:
    """Addresses of the pages to look at in a browser now."""
    return (
        f"Open in a browser:\n\n{_addresses(port, board)}\n\n"
        "The service runs on for them, and for normbench submit in another terminal. Ctrl-C stops it."
    )


def _addresses(port: int, board: Leaderboard) -> str:
    url = f"http://127.0.0.1:{port}"
    compared = "&".join(f"fingerprint={fingerprint[:12]}" for fingerprint in _fingerprints(board))
    return f"  {url}/boards/{TASK}?profile={PROFILE}\n  {url}/compare?{compared}\n  {url}/\n  {url}/docs"


def _fingerprints(board: Leaderboard) -> list[str]:
    """Fingerprints of the board's first entries, as many as the demo has methods."""
    return [entry["fingerprint"] for entry in board["entries"] if entry["fingerprint"]][: len(METHODS)]


def advice(data_dir: Path, port: int, board: Leaderboard) -> str:
    """Commands to look further, to be copied as they stand."""
    url = f"http://127.0.0.1:{port}"
    own, at = _own_name(), "" if url == DEFAULT_URL else f"NORMBENCH_URL={url} "
    return (
        f"The results stay in {data_dir}. To look further, start the service on them:\n\n"
        f"  {_start(data_dir, port)}\n\n"
        "and while it runs, in another terminal:\n\n"
        f"  {at}{own} leaderboard {TASK} --profile {PROFILE} --rank-by steps_to_target\n"
        f"  {at}{own} status\n"
        f"  {at}{own} open {TASK} --profile {PROFILE}\n\n"
        f"or in a browser:\n\n{_addresses(port, board)}"
    )


def _start(data_dir: Path, port: int) -> str:
    """Command that starts the demo's service again, to be copied as it stands."""
    where = f"NORMBENCH_DATA_DIR={shlex.quote(str(data_dir))} " if "NORMBENCH_DATA_DIR" in os.environ else ""
    return f"{where}{_own_name()} up --port {port}"


def _own_name() -> str:
    """Command line that started this process."""
    called = Path(sys.argv[0]).absolute()
    if called.name != "normbench":
        return f"{shlex.quote(sys.executable)} -P -m normbench"
    found = shutil.which("normbench")
    return "normbench" if found and Path(found).absolute() == called else shlex.quote(str(called))


def _trained(client: Client, as_json: bool) -> Leaderboard:
    """The leaderboard once all have trained.

    Raises:
        NormbenchError: a run did not succeed.
    """
    specs = [
        {"task": {"name": TASK, "profile": PROFILE}, "norm": {"method": method}, "seeds": SEEDS} for method in METHODS
    ]
    ids = [client.submit(spec)["id"] for spec in specs]
    typer.echo("Their curves grow in a browser:", err=as_json)
    for method, id in zip(METHODS, ids, strict=True):
        typer.echo(f"  {client.url}/experiments/{id}  {method}", err=as_json)
    for experiment in progress.watch(client, ids, command.console(err=as_json)):
        watching.complain(experiment)
        if experiment["state"] != "succeeded":
            raise NormbenchError(f"{experiment['id']} {experiment['state']}; the log of the service may say more")
    return client.leaderboard(TASK, profile=PROFILE)


@contextmanager
def _service(data_dir: Path, port: int, as_json: bool) -> Iterator[tuple[Client, "subprocess.Popen[bytes]"]]:
    """A running ``normbench up`` of our own and its process, stopped afterwards."""
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "demo.log"
    typer.echo(f"Starting the service (data in {data_dir}, log in {log.name}) …", err=as_json)
    log.unlink(missing_ok=True)
    service = Service("--port", str(port), log=log, stays=False)
    try:
        with Client(service.ready()) as client:
            yield client, service.process
    finally:
        service.stop()
