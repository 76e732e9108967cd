"""Commands of whoever runs the service: its processes, its database, its keys. They need no service to be up."""

import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from normcore.data import registry
from service.errors import ServiceError
from service.settings import InvalidSettings, Settings, read_settings
from service.startup import StartupError

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Host = Annotated[str, typer.Option(help="Address to listen on; any but 127.0.0.1 needs API keys.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")]

keys = typer.Typer(no_args_is_help=True, help="API keys, which a service beyond this machine asks for.")
data = typer.Typer(no_args_is_help=True, help="The data sets at hand, and how to get the others.")


def user_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Foreseen failures become one line on standard error and exit status 2."""

    @wraps(command)
    def guarded(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (InvalidSettings, StartupError, ServiceError, registry.DatasetError, registry.DownloadFailed) as error:
            typer.echo(f"normbench: {error}", err=True)
            raise typer.Exit(2) from None

    return guarded


def say(as_json: bool, content: Any, text: str) -> None:
    """The answer as JSON, or as text for people."""
    typer.echo(json.dumps(content) if as_json else text)


@user_errors
def up(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Runs that train at the same time.")] = 1,
    device: Annotated[str | None, typer.Option(help="cpu or cuda:N; a GPU if there is one, else the CPU.")] = None,
    as_json: Json = False,
) -> None:
    """Run API, scheduler and workers on this machine; nothing else is needed."""
    from service.local import up as run_up

    settings = _settings()
    url = f"http://{host}:{port}"
    told = f"normbench listens on {url} (API docs: {url}/docs), data in {settings.data_dir}. Ctrl-C stops it."
    run_up(settings, host, port, workers, device, lambda: say(as_json, {"url": url}, told))


@user_errors
def api(host: Host = "127.0.0.1", port: Port = 8000, as_json: Json = False) -> None:
    """Run the HTTP API alone."""
    from service.serve import serve

    settings = _settings()
    serve(settings, host, port, lambda: say(as_json, {"url": f"http://{host}:{port}"}, f"listening on {host}:{port}"))


def worker(
    device: Annotated[str | None, typer.Option(help="cpu or cuda:N; a GPU if there is one, else the CPU.")] = None,
    as_json: Json = False,
) -> None:
    """Run one worker: it trains queued runs, one at a time."""
    options = [*(["--device", device] if device else []), *(["--json"] if as_json else [])]
    os.execv(sys.executable, [sys.executable, "-P", "-m", "workers", *options])


@user_errors
def scheduler(as_json: Json = False) -> None:
    """Run the scheduler: it takes back what lost workers held and rings again for what waits."""
    from service.scheduler import schedule

    schedule(_settings(), lambda: say(as_json, {"scheduler": "running"}, "scheduler running"))


@user_errors
def migrate(as_json: Json = False) -> None:
    """Bring the database up to date; every process does it as well when it starts."""
    from service.startup import prepare

    settings = _settings()
    prepare(settings).close()
    say(as_json, {"database": "up to date"}, "the database is up to date")


@keys.command("create")
@user_errors
def create_key(name: str, as_json: Json = False) -> None:
    """Make a key. It is shown this once and never again."""
    from service.keys import keyring
    from service.startup import prepare

    with prepare(_settings()).transaction() as session:
        key, secret = keyring.create(session, name)
    say(
        as_json,
        {"id": key.id, "name": name, "key": secret},
        f"{secret}\n(key {key.id} for {name}; keep it, it is not shown again)",
    )


@keys.command("list")
@user_errors
def list_keys(as_json: Json = False) -> None:
    """All keys, revoked ones too; not the keys themselves."""
    from service.keys import keyring
    from service.startup import prepare

    with prepare(_settings()).snapshot() as session:
        rows = [
            {
                "id": key.id,
                "name": key.name,
                "created_at": key.created_at.isoformat(),
                "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
            }
            for key in keyring.keys(session)
        ]
    _show(as_json, "API keys", rows)


@keys.command("revoke")
@user_errors
def revoke_key(key_id: str, as_json: Json = False) -> None:
    """End a key."""
    from service.keys import keyring
    from service.startup import prepare

    with prepare(_settings()).transaction() as session:
        key = keyring.revoke(session, key_id)
    say(as_json, {"id": key.id, "revoked": True}, f"{key.id} ({key.name}) is revoked")


DatasetNames = Annotated[list[str] | None, typer.Argument(help="Data sets; all of them if omitted.")]


@data.command("list")
@user_errors
def list_datasets(as_json: Json = False) -> None:
    """The data sets, and whether they are at hand."""
    folder = _settings().datasets_dir
    rows = [
        {"name": d.name, "status": registry.status(d, folder), "title": d.title, "licence": d.licence}
        for d in registry.DATASETS.values()
    ]
    _show(as_json, f"Data sets in {folder}", rows)


@data.command("fetch")
@user_errors
def fetch_datasets(names: DatasetNames = None, as_json: Json = False) -> None:
    """Download data sets from their official homes and check them."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    folder, fetched = _settings().datasets_dir, {}
    bars: dict[str, Any] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def advance(file: str, done: int, total: int | None) -> None:
            if file not in bars:
                bars[file] = progress.add_task(file)
            progress.update(bars[file], completed=done, total=total)

        for name in _known(names):
            fetched[name] = [str(path) for path in registry.fetch(registry.DATASETS[name], folder, advance)]
    say(as_json, fetched, "\n".join(f"{name}: {', '.join(paths) or 'bundled'}" for name, paths in fetched.items()))


@data.command("verify")
@user_errors
def verify_datasets(names: DatasetNames = None, as_json: Json = False) -> None:
    """Check data sets against their SHA-256."""
    folder = _settings().datasets_dir
    for name in _known(names):
        registry.verify(registry.DATASETS[name], folder)
    say(as_json, {"verified": _known(names)}, f"genuine: {', '.join(_known(names))}")


def _known(names: list[str] | None) -> list[str]:
    unknown = set(names or ()) - set(registry.DATASETS)
    if unknown:
        raise typer.BadParameter(f"unknown {', '.join(sorted(unknown))}; choose from {', '.join(registry.DATASETS)}")
    return names or list(registry.DATASETS)


def _settings() -> Settings:
    return read_settings(Settings)


def _show(as_json: bool, title: str, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console

    from service.display import table

    if as_json:
        typer.echo(json.dumps(rows))
    else:
        columns = list(rows[0]) if rows else ["none"]
        Console().print(table(title, columns, [list(row.values()) for row in rows], folds=("title", "licence")))
