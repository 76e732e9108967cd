"""Reference page of the HTTP API, written from the OpenAPI document of the application."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from guide.reference.markdown import code, joined, options, prose, table
from service.app import create_app
from service.pages.options import may_be
from service.settings import Settings

REFERENCE = "#/components/schemas/"
COMMON = ("400", "401", "403", "405", "421", "422", "500", "503")
"""Status codes of refusals that almost every call may answer with."""


def page() -> str:
    """Markdown of the page of the API."""
    document = openapi()
    calls = [
        _call(path, method, call)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
        if path.startswith("/v1/")
    ]
    return joined(
        "# HTTP",
        prose(document["info"]["description"]),
        "`/openapi.json` of a service has all of this for programs, and `/docs` lets you try it. Lists answer `items`"
        " and `next_cursor`. With keys, send `Authorization: Bearer nb_…`.",
        f"Each call may also be refused with {', '.join(COMMON)}; the body then says why.",
        "## Calls",
        *calls,
        "## Answers",
        *_schemas(document["components"]["schemas"]),
    )


def openapi() -> Mapping[str, Any]:
    """OpenAPI document of an application that asks for API keys. No database is opened."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data_dir=Path(folder),
            database_url=f"sqlite:///{folder}/normbench.db",
            artifacts_url=folder,
            broker_url="filesystem://localhost",
        )
        return create_app(settings, require_keys=True).openapi()


def _call(path: str, method: str, call: Mapping[str, Any]) -> str:
    parameters = [
        (code(one["name"]), one["in"], may_be(one["schema"]), prose(one.get("description", "")))
        for one in call.get("parameters", [])
        if one["in"] in ("path", "query")
    ]
    answers = [
        (status, prose(answer["description"]), _named(answer))
        for status, answer in call["responses"].items()
        if status not in COMMON
    ]
    return joined(
        f"### {method.upper()} {path}",
        prose(call.get("description") or call.get("summary")),
        f"Body: {_named(call['requestBody'])}." if "requestBody" in call else "",
        table(("parameter", "in", "may be", "meaning"), parameters),
        table(("status", "when", "answer"), answers),
    )


def _named(message: Mapping[str, Any]) -> str:
    """Name of the schema of a message, with the other formats that the message may have."""
    names = []
    for media, content in message.get("content", {}).items():
        reference = content.get("schema", {}).get("$ref", "")
        name = reference.removeprefix(REFERENCE)
        names.append(f"[{name}](#{name.lower()})" if name else code(media))
    return ", ".join(dict.fromkeys(names))


def _schemas(schemas: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in schemas.items():
        shown = options(schema) if schema.get("properties") else ""
        yield joined(f"### {name}", prose(schema.get("description")), shown)
