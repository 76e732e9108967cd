"""Comparison of calls that documents name with the HTTP API."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from guide.reference.http import openapi


@cache
def calls() -> Mapping[str, Mapping[str, Any]]:
    """Calls of the HTTP API: descriptions by path and method."""
    paths: Mapping[str, Mapping[str, Any]] = openapi()["paths"]
    return paths


def check_call(method: str, address: str) -> None:
    """Check that the HTTP API has a call, and the parameters after ``?``. Without a ``method``, any method will do."""
    path, _, query = address.partition("?")
    name = f"{method} {path}".strip()
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
