"""The service seen from a user's machine: HTTP, and nothing else."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

DEFAULT_URL = "http://127.0.0.1:8000"
ENDED = frozenset({"succeeded", "failed", "cancelled"})


class ClientError(Exception):
    """The service refused or cannot be reached; the message is for people."""


class Client:
    """Calls of the HTTP API, answered with plain values.

    Every method raises ``ClientError`` when the service refuses or cannot be reached.
    """

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self.url = url or os.environ.get("NORMBENCH_URL") or DEFAULT_URL
        key = key or os.environ.get("NORMBENCH_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            self._http = httpx.Client(base_url=self.url, headers=headers, timeout=30)
        except httpx.InvalidURL as error:
            raise ClientError(f"{self.url} is no address ({error}); set NORMBENCH_URL") from None

    def submit(self, spec: Any, idempotency_key: str | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        try:
            body = json.dumps(spec, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ClientError(f"the spec holds what JSON cannot: {error}") from None
        return self._call("POST", "/v1/experiments", content=body, headers=headers)

    def experiment(self, experiment_id: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/experiments/{experiment_id}")

    def experiments(self, **filters: Any) -> list[dict[str, Any]]:
        """One page, newest first."""
        page = self._call("GET", "/v1/experiments", params=_given(filters))
        items: list[dict[str, Any]] = page["items"]
        return items

    def cancel(self, experiment_id: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/experiments/{experiment_id}/cancel")

    def retry(self, experiment_id: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/experiments/{experiment_id}/retry")

    def run(self, run_id: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/runs/{run_id}")

    def latest(self, run_id: str, series: str) -> float | None:
        """The last value of a series, if there is one."""
        answer = self._call("GET", f"/v1/runs/{run_id}/measurements", params={"series": series, "max_points": 4})
        points = answer["series"].get(series, {}).get("points", [])
        return float(points[-1][1]) if points else None

    def leaderboard(self, task: str, **options: Any) -> dict[str, Any]:
        return self._call("GET", f"/v1/leaderboards/{task}", params=_given(options))

    def report_card(self, method: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/methods/{method}/report-card")

    def catalogue(self, kind: str) -> list[dict[str, Any]]:
        """Everything there is of a kind: ``tasks``, ``methods``, ``datasets`` or ``workers``."""
        items: list[dict[str, Any]] = self._call("GET", f"/v1/{kind}")["items"]
        return items

    def is_ready(self) -> bool:
        try:
            return self._http.get("/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            answer = self._http.request(method, path, **request)
        except httpx.TransportError as error:
            raise ClientError(
                f"no service answers at {self.url} ({error}); start one with `normbench up`, or set NORMBENCH_URL"
            ) from None
        if answer.is_error:
            raise ClientError("\n".join(_complaints(answer)))
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise ClientError(f"what answers at {self.url} is no normbench; set NORMBENCH_URL")
        return content


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _complaints(answer: httpx.Response) -> Iterator[str]:
    """A problem in lines: one for each wrong field, or its detail."""
    try:
        problem = answer.json()
        errors = problem.get("errors") or []
    except (ValueError, AttributeError):
        yield f"{answer.status_code} {answer.reason_phrase}"
        return
    for error in errors:
        yield f"{'.'.join(map(str, error['loc'])) or 'spec'}: {error['msg']}"
    if not errors:
        yield str(problem.get("detail", answer.reason_phrase))
