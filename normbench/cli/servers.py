"""Run the service's processes. They need no service to be up, and what they run is imported when they are called."""

import os
import re
import sys
from typing import Annotated

import typer

from normbench.cli.background import Service
from normbench.cli.command import Json, require, say
from normbench.cli.operators import service_settings
from normbench.errors import NormbenchError
from normcore.variables import DEFAULT_PORT, WrongVariable, default_port


def _device(named: str | None) -> str | None:
    """Raises:
    typer.BadParameter: no device goes by that name.
    """
    if named is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", named):
        raise typer.BadParameter(f"{named!r} is no device; write cpu, or cuda:N for the GPU number N")
    return named


def usual_port(context: typer.Context, parameter: typer.CallbackParam, given: int) -> int:
    """The port that was given, or else the one of NORMBENCH_PORT.

    Raises:
        typer.BadParameter: the variable holds no port.
    """
    source = context.get_parameter_source(parameter.name or "")
    if source is not None and source.name != "DEFAULT":
        return given
    try:
        return default_port(os.environ)
    except WrongVariable as error:
        raise typer.BadParameter(str(error)) from None


Host = Annotated[str, typer.Option(help="Address to listen on; any but 127.0.0.1 needs API keys.")]
Port = Annotated[
    int,
    typer.Option(
        min=0,
        max=65535,
        help="Port to listen on; 0 for any that is free. NORMBENCH_PORT is another default.",
        callback=usual_port,
    ),
]
Device = Annotated[
    str | None, typer.Option(help="cpu or cuda:N; a GPU if there is one, else the CPU.", callback=_device)
]


def up(
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    workers: Annotated[int, typer.Option(min=1, help="Runs that train at the same time.")] = 1,
    device: Device = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Start it in the background, and return once it can train.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run API, scheduler and workers on this machine; nothing else is needed.

    With --detach: say where it listens, where its log is and how to stop it; exit status 2 with the end of the log if
    it does not start.
    """
    require("server", "worker")
    if detach:
        options = ["--host", host, "--port", str(port), "--workers", str(workers)]
        _detach([*options, *(["--device", device] if device else [])], as_json)
        return
    with service_settings() as settings:
        from service.processes.local import up as run_up

        def ready(port: int) -> None:
            url = _url(host, port)
            told = (
                f"normbench listens: open {url} (API docs: {url}/docs). Data in {settings.data_dir}. Ctrl-C stops it."
            )
            say(as_json, {"url": url}, told)

        run_up(settings, host, port, workers, device, ready)


def _detach(options: list[str], as_json: bool) -> None:
    """Start ``up`` in the background.

    Raises:
        NormbenchError: it does not start.
    """
    with service_settings() as settings:
        data_dir = settings.data_dir
    started = False
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        service = Service(*options, log=data_dir / "up.log", stays=True)
    except OSError as error:
        raise NormbenchError(f"cannot write to the data directory {data_dir}: {error.strerror}") from None
    try:
        url = service.ready()
        started = True
    finally:
        if not started:
            service.stop()
    told = f"normbench listens: open {url} (API docs: {url}/docs). Data in {data_dir}, log in {service.log}."
    pid = service.process.pid
    say(as_json, {"url": url, "pid": pid, "log": str(service.log)}, f"{told}\nstop it:  kill {pid}")


def api(host: Host = "127.0.0.1", port: Port = DEFAULT_PORT, as_json: Json = False) -> None:
    """Run the HTTP API alone."""
    with service_settings() as settings:
        from service.processes.serve import serve

        def ready(port: int) -> None:
            url = _url(host, port)
            say(as_json, {"url": url}, f"listening on {url}")

        serve(settings, host, port, ready)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def worker(device: Device = None, as_json: Json = False) -> None:
    """Run one worker: it trains queued runs, one at a time."""
    require("worker")
    options = [*(["--device", device] if device else []), *(["--json"] if as_json else [])]
    os.execv(sys.executable, [sys.executable, "-P", "-m", "workers", *options])


def scheduler(as_json: Json = False) -> None:
    """Run the scheduler: it takes back what lost workers held and notifies workers again of what waits."""
    with service_settings() as settings:
        from service.processes.scheduler import schedule

        schedule(settings, lambda: say(as_json, {"scheduler": "running"}, "scheduler running"))


def migrate(as_json: Json = False) -> None:
    """Bring the database up to date; every process does it as well when it starts."""
    with service_settings() as settings:
        from service.processes.startup import prepare

        prepare(settings).close()
        say(as_json, {"database": "up to date"}, "the database is up to date")
