"""Commands that run the service's processes. Each imports the package ``service`` only when it is called."""

import os
import re
import sys
from typing import Annotated

import typer

from normbench.cli.background import Service
from normbench.cli.command import Json, note, require, say
from normbench.cli.operators import service_settings, writable
from normcore.variables import DEFAULT_PORT, WrongVariable, default_port


def _device(named: str | None) -> str | None:
    """Check the name of a device.

    Raises:
        typer.BadParameter: there is no such name.
    """
    if named is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", named):
        raise typer.BadParameter(f"{named!r} is not a device; write cpu, or cuda:N for the GPU number N")
    return named


def usual_port(context: typer.Context, parameter: typer.CallbackParam, given: int) -> int:
    """Port that was given on the command line, or else the port of NORMBENCH_PORT.

    Raises:
        typer.BadParameter: NORMBENCH_PORT is not a port.
    """
    source = context.get_parameter_source(parameter.name or "")
    if source is not None and source.name != "DEFAULT":
        return given
    try:
        return default_port(os.environ)
    except WrongVariable as error:
        raise typer.BadParameter(str(error)) from None


Host = Annotated[str, typer.Option(help="Address to listen on; any other than 127.0.0.1 needs API keys.")]
Port = Annotated[
    int,
    typer.Option(
        min=0,
        max=65535,
        help="Port to listen on; 0 for a free one. NORMBENCH_PORT changes the default.",
        callback=usual_port,
    ),
]
Device = Annotated[
    str | None, typer.Option(help="cpu or cuda:N. If omitted: a GPU if there is one, else the CPU.", callback=_device)
]


def up(
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    workers: Annotated[int, typer.Option(min=1, help="Number of workers; each trains one run at a time.")] = 1,
    device: Device = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Start the service in the background, and return once it can train.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run the whole service on this machine: API, scheduler and workers.

    With --detach, the command prints the address, the log file and how to stop
    the service. If the service does not start, it prints the end of the log;
    exit status 2.
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

        run_up(settings, host, port, workers, device, ready, note)


def _detach(options: list[str], as_json: bool) -> None:
    """Start ``normbench up`` in the background, and print its address, its log file and how to stop it.

    Args:
        options: options of ``normbench up``.

    Raises:
        NormbenchError: the data directory cannot be written to, or the service does not start.
    """
    with service_settings() as settings:
        data_dir = settings.data_dir
    started = False
    with writable(data_dir):
        service = Service(*options, log=data_dir / "up.log", stays=True)
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
    """Run only the HTTP API."""
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
    """Run the scheduler: it takes runs back from lost workers and notifies workers again of waiting runs."""
    with service_settings() as settings:
        from service.processes.scheduler import schedule

        schedule(settings, lambda: say(as_json, {"scheduler": "running"}, "scheduler running"))


def migrate(as_json: Json = False) -> None:
    """Bring the database's tables up to date. Every process of the service also does so when it starts."""
    with service_settings() as settings:
        from service.processes.startup import prepare

        prepare(settings).close()
        say(as_json, {"database": "up to date"}, "the database is up to date")
