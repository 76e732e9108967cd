"""Parts of requests, made from a caller's arguments: paths, headers, filters and bodies.

A wrong argument raises ``Invalid`` before anything is sent.
"""

import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from normbench.errors import FieldError, Invalid, Unreachable

IDEMPOTENCY_KEY = r"[!-~]([ -~]{0,253}[!-~])?"
FIGURES = "figures/"
EXPERIMENTS, RESULTS, COMPARISONS = "/v1/experiments", "/v1/results", "/v1/comparisons"
SWEEPS, OVERALL = "/v1/sweeps", "/v1/leaderboards/overall"
MAX_ON_A_PAGE = 200
NAMES = {
    "experiments": "an experiment's id",
    "sweeps": "a sweep's id",
    "runs": "a run's id",
    "artifacts": "a file's name",
    "figures": "a figure's name",
    "leaderboards": "a task's name",
    "results": "a result's id",
    "methods": "a method's name",
    "citations": "a name to cite",
}

ExportKind = Literal[
    "board", "overall", "comparison", "sweep", "sweeps", "experiment", "experiments", "measurements", "report card"
]


def own_url() -> str:
    """URL of this machine's service.

    Raises:
        Unreachable: NORMBENCH_PORT is not a port.
    """
    from normcore.variables import WrongVariable, default_port  # here: a client that is given a URL needs no variables

    try:
        return f"http://127.0.0.1:{default_port(os.environ)}"
    except WrongVariable as error:
        raise Unreachable(str(error)) from None


def path_to(*parts: str) -> str:
    """Path of a resource, such as ``/v1/runs/run_…`` for ``runs`` and a run's id. Ids and names are quoted.

    Args:
        parts: kinds in ``NAMES``, each followed by an id or a name.

    Raises:
        Invalid: an id or name is empty, or cannot stand in a path.
    """
    for kind, name in zip(parts[::2], parts[1::2], strict=True):
        if not name:
            raise Invalid(f"{NAMES[kind]} is missing: the text given for it is empty")
        if "/" in name or name in (".", "..") or not name.isprintable():
            raise Invalid(f"{name!r} is not {NAMES[kind]}")
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def path_to_file(run_id: str, name: str) -> str:
    """URL path of an artifact of a run. The artifact may lie in the folder ``figures``."""
    folder = FIGURES if name.startswith(FIGURES) and name != FIGURES else ""
    path = path_to("runs", run_id, "artifacts", name.removeprefix(folder))
    return path.replace("/artifacts/", f"/artifacts/{folder}")


def drop_none(**options: Any) -> dict[str, Any]:
    """Options without those that are None."""
    return {name: value for name, value in options.items() if value is not None}


def label_filters(labels: Mapping[str, str] | None) -> list[str]:
    """Values of the query parameter ``label``, each written as KEY:VALUE."""
    return [f"{key}:{value}" for key, value in (labels or {}).items()]


def iso_time(moment: datetime | str | None) -> str | None:
    """ISO 8601 text of a time; text and None stay as they are."""
    return moment.isoformat() if isinstance(moment, datetime) else moment


def table_request(what: ExportKind, names: Sequence[str], options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Path and query parameters of the rows that ``Client.export`` asks for; arguments as there."""
    params = drop_none(**options)
    if what == "board":
        path = path_to("leaderboards", *names)
        params |= drop_none(as_of=iso_time(params.pop("as_of", None)))
    elif what == "comparison":
        path, params["fingerprint"] = COMPARISONS, list(names)
    elif what == "overall":
        path = OVERALL
    elif what == "sweep":
        path = path_to("sweeps", *names)
    elif what == "report card":
        path = f"{path_to('methods', *names)}/report-card"
    elif what == "sweeps":
        path, params["limit"] = SWEEPS, MAX_ON_A_PAGE
    elif what == "experiment":
        path = path_to("experiments", *names)
    elif what == "experiments":
        path, params["limit"], params["label"] = EXPERIMENTS, MAX_ON_A_PAGE, label_filters(params.pop("labels", None))
    else:
        path = f"{path_to('runs', *names)}/measurements"
    return path, params


def figure_request(
    what: ExportKind, names: Sequence[str], figure: str, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Path and query parameters of the figure that ``Client.export_figure`` asks for; arguments as there."""
    path, params = table_request(what, names, options)
    within = path_to("figures", figure).removeprefix("/v1")
    return path.removesuffix("/measurements") + within, {name: value for name, value in params.items() if value}


def idempotency_header(key: str | None) -> dict[str, str]:
    """Header that makes the service submit once, however often the request is repeated; a random key for None.

    Raises:
        Invalid: the key cannot be sent.
    """
    key = str(uuid.uuid4()) if key is None else key
    if not re.fullmatch(IDEMPOTENCY_KEY, key):
        raise Invalid(
            f"the idempotency key {key[:40]!r} cannot be sent;"
            " use 1 to 255 printable ASCII characters, with no space at either end"
        )
    return {"Idempotency-Key": key}


def json_body(what: str, content: Mapping[str, Any]) -> str:
    """JSON text of a request's content.

    Args:
        what: the word that an error uses for the content: spec, sweep or result.

    Raises:
        Invalid: the content holds a value that JSON does not have.
    """
    try:
        return json.dumps(content, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_json(what, content, error) from None


def _not_json(what: str, content: Any, error: Exception) -> Invalid:
    """Error for content that is not JSON, with the path of the first wrong value if it has one."""
    from normcore.spec.files import not_json  # here: a client that only reads results needs no specs in memory

    loc, value = next(not_json(content), ((), None))
    if not loc:
        return Invalid(f"the {what} holds what JSON cannot: {error}")
    if isinstance(value, float):
        wrong = f"the {what} holds {json.dumps(value)}, which JSON cannot; give a finite number"
    else:
        kind = type(value).__name__
        wrong = f"the {what} holds a value of type {kind}, which JSON cannot; give text, numbers, lists or mappings"
    told: FieldError = {"loc": list(loc), "msg": wrong, "type": "not_json"}
    return Invalid(f"{'.'.join(map(str, loc))}: {wrong}", errors=[told])
