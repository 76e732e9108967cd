"""Client of the API that repeats its requests, except if a missing answer is part of the observation."""

import time
from collections.abc import Callable
from typing import Any

import httpx

TIMEOUT = 3.0  # seconds; an API without its database does not answer
AGAIN_SECONDS = 0.1
PATIENCE = 120.0
GONE = 404


class Api:
    """API of a service on 127.0.0.1. Every request may be repeated, as a repeated request changes nothing."""

    def __init__(self, port: int) -> None:
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT)

    def try_get(self, path: str) -> Any:
        """Ask once; return the answer's JSON, or None if there is no answer or a refusal."""
        try:
            answer = self._http.get(path)
        except httpx.TransportError:
            return None
        return answer.json() if answer.is_success else None

    def get(self, path: str) -> Any:
        """Ask until an answer comes; return its JSON, or None if the path does not exist.

        Raises:
            RuntimeError: no answer came in time, or the service refused the request.
        """
        return self._insist(lambda: self._http.get(path))

    def submit(self, body: dict[str, Any], key: str) -> Any:
        """Submit an experiment until it is accepted; return the experiment.

        Raises:
            RuntimeError: it was not accepted in time, or was refused.
        """
        return self._insist(lambda: self._http.post("/v1/experiments", json=body, headers={"Idempotency-Key": key}))

    def cancel(self, experiment_id: str) -> None:
        """Cancel an experiment, again until the service accepts.

        Raises:
            RuntimeError: the service did not accept in time, or refused.
        """
        self._insist(lambda: self._http.post(f"/v1/experiments/{experiment_id}/cancel"))

    def is_ready(self) -> bool:
        return self.try_get("/readyz") is not None

    def workers(self) -> list[dict[str, Any]]:
        """Live workers; empty if the service does not answer."""
        answer = self.try_get("/v1/workers")
        return answer["items"] if answer else []

    def experiment_ids(self) -> list[str]:
        """Ids of all experiments that the service knows."""
        found: list[str] = []
        path: str | None = "/v1/experiments?limit=200"
        while path:
            page = self.get(path)
            found += [experiment["id"] for experiment in page["items"]]
            path = f"/v1/experiments?limit=200&cursor={page['next_cursor']}" if page["next_cursor"] else None
        return found

    def _insist(self, ask: Callable[[], httpx.Response]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = None
            try:
                answer = ask()
            except httpx.TransportError as error:
                said = repr(error)
            if answer is not None:
                if answer.is_success:
                    return answer.json() if answer.content else None
                if answer.status_code == GONE:
                    return None
                said = f"{answer.status_code} {answer.text[:300]}"
                if answer.is_client_error:
                    raise RuntimeError(f"{answer.request.method} {answer.request.url.path}: {said}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"no answer in {PATIENCE:g} s: {said}")
            time.sleep(AGAIN_SECONDS)
