"""Comparison of calls that documents name with the HTTP API and the pages of the service."""

import re
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.routing import Match

from guide.reference.http import openapi
from service.app import create_app
from service.settings import Settings


@cache
def calls() -> Mapping[str, Mapping[str, Any]]:
    """Calls of the HTTP API: descriptions by path and method."""
    paths: Mapping[str, Mapping[str, Any]] = openapi()["paths"]
    return paths


@cache
def application() -> FastAPI:
    """Build an application, to ask for its pages. It opens no database."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data_dir=Path(folder), database_url=f"sqlite:///{folder}/none.db", broker_url="filesystem://localhost"
        )
        return create_app(settings, require_keys=False)


def is_page(path: str) -> bool:
    """Say whether the service has a page at a path, outside of its HTTP API."""
    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    return any(route.matches(scope)[0] is Match.FULL for route in application().routes)


def check_call(method: str, address: str) -> None:
    """Check that the HTTP API has a call, and the parameters after ``?``, or that the service has a page. Without a
    ``method``, any method will do."""
    path, _, query = address.partition("?")
    name = f"{method} {path}".strip()
    if method in ("", "GET") and path not in calls() and not path.startswith("/v1/") and is_page(path):
        return
    found = [
        call
        for known, methods in calls().items()
        for by, call in methods.items()
        if fits(path, known) and method.lower() in ("", by)
    ]
    assert found, f"no call {name}"
    parameters = {parameter["name"] for call in found for parameter in call.get("parameters", ())}
    for parameter in re.findall(r"(\w+)=", query):
        assert parameter in parameters, f"no parameter {parameter} of {name}"


def fits(path: str, known: str) -> bool:
    """Compare a path with a path of the HTTP API. A part in braces stands for anything."""
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path) is not None
