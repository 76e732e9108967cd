"""Calls of the API as a client makes them, and checks of refusals."""

from typing import Any

from starlette.testclient import TestClient

from tests.service.sample_runs import written


def post(client: TestClient, *args: Any, key: str | None = None, **parts: Any) -> Any:
    return client.post("/v1/experiments", json=written(*args, **parts), headers={"Idempotency-Key": key} if key else {})


def is_problem(answer: Any, status: int) -> bool:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return bool(answer.json()["status"] == status)


def ids(client: TestClient, **query: Any) -> list[str]:
    answer = client.get("/v1/experiments", params=query)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]
