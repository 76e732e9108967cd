"""A client of the API that repeats its requests, except where a missing answer is part of the observation."""

import time
from collections.abc import Callable
from typing import Any

import httpx

TIMEOUT = 3.0  # seconds; an API without its database does not answer
AGAIN_SECONDS = 0.1
PATIENCE = 120.0
GONE = 404


class Api:
    """HTTP to 127.0.0.1. Every request may be repeated, because repeating it changes nothing."""

    def __init__(self, port: int) -> None:
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT)

    def try_get(self, path: str) -> Any:
        """The answer's JSON, or None if no answer comes."""
        try:
            answer = self._http.get(path)
        except httpx.TransportError:
            return None
        return answer.json() if answer.is_success else None

    def get(self, path: str) -> Any:
        """The answer's JSON, repeated until it comes; None if there is no such thing.

        Raises:
            RuntimeError: it did not come in time.
        """
        return self._insist(lambda: self._http.get(path))

    def submit(self, body: dict[str, Any], key: str) -> Any:
        """The experiment, once it is accepted.

        Raises:
            RuntimeError: it was not in time, or was refused.
        """
        return self._insist(lambda: self._http.post("/v1/experiments", json=body, headers={"Idempotency-Key": key}))

    def cancel(self, experiment_id: str) -> None:
        """Raises:
        RuntimeError: it was not accepted in time.
        """
        self._insist(lambda: self._http.post(f"/v1/experiments/{experiment_id}/cancel"))

    def is_ready(self) -> bool:
        return self.try_get("/readyz") is not None

    def workers(self) -> list[dict[str, Any]]:
        """The live workers, none if nobody answers."""
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
