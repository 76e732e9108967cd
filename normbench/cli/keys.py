"""Commands that make, list and revoke API keys in the service's database."""

from typing import Annotated

import typer

from normbench.cli.command import Json, catch_errors, say, show
from normbench.cli.operators import service_settings
from normbench.display.runs import moment
from normbench.display.table import Column, Table

app = typer.Typer(
    no_args_is_help=True, help="Make, list and revoke API keys, which a service for other machines needs."
)


@app.command("create")
@catch_errors
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the person or program that uses the key.")],
    as_json: Json = False,
) -> None:
    """Make an API key. It is shown only once."""
    with service_settings() as settings:
        from service.keys import keyring
        from service.processes.startup import prepare

        with prepare(settings).transaction() as session:
            key, secret = keyring.create(session, name)
        text = f"{secret}\n(key {key.id} for {name}; keep it, it is not shown again)"
        say(as_json, {"id": key.id, "name": name, "key": secret}, text)


@app.command("list")
@catch_errors
def list_keys(as_json: Json = False) -> None:
    """List the names and ids of all keys, also of revoked ones. The keys themselves are not stored."""
    with service_settings() as settings:
        from service.keys import keyring
        from service.processes.startup import prepare

        with prepare(settings).snapshot() as session:
            found = [
                {
                    "id": key.id,
                    "name": key.name,
                    "created_at": key.created_at.isoformat(),
                    "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
                }
                for key in keyring.keys(session)
            ]
    columns = (Column("id"), Column("name", prose=True), Column("created", optional=1), Column("revoked"))
    rows = [(k["id"], k["name"], moment(k["created_at"]), moment(k["revoked_at"])) for k in found]
    show(as_json, found, Table("API keys (times in UTC)", columns, rows))


@app.command("revoke")
@catch_errors
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="key_…; `normbench keys list` shows them.")],
    as_json: Json = False,
) -> None:
    """Revoke a key: from then on, the service refuses it."""
    with service_settings() as settings:
        from service.keys import keyring
        from service.processes.startup import prepare

        with prepare(settings).transaction() as session:
            key = keyring.revoke(session, key_id)
        say(as_json, {"id": key.id, "revoked": True}, f"{key.id} ({key.name}) is revoked")
