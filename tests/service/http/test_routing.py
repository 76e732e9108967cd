"""A parameter that a route does not have is refused, with the one that was meant."""

import pytest
from starlette.testclient import TestClient

UNKNOWN: list[tuple[str, str, str]] = [
    ("/v1/experiments?taks=char_lm", "taks", "did you mean 'task'?"),
    ("/v1/experiments?task=char_lm&limt=2", "limt", "did you mean 'limit'?"),
    ("/v1/leaderboards/permuted_digits?profil=small", "profil", "did you mean 'profile'?"),
    ("/v1/tasks?name=char_lm", "name", "there are none here"),
    ("/v1/runs/run_1?x", "x", "there are none here"),
    ("/v1/runs/run_1/measurements?serie=a", "serie", "did you mean 'series'?"),
    ("/v1/runs/run_1/events?last-event-id=1-2", "last-event-id", "did you mean 'last_event_id'?"),
    ("/healthz?deep=1", "deep", "there are none here"),
    ("/metrics?name=a", "name", "there are none here"),
]


@pytest.mark.parametrize(("path", "name", "meant"), UNKNOWN)
def test_an_unknown_parameter_is_named(shared_client: TestClient, path: str, name: str, meant: str) -> None:
    answer = shared_client.get(path)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    [error] = answer.json()["errors"]
    assert (error["loc"], error["type"]) == ([name], "unknown_parameter")
    assert meant in error["msg"]


def test_a_misspelt_dry_run_stores_nothing(shared_client: TestClient) -> None:
    answer = shared_client.post("/v1/experiments?dryrun=true", json={"task": {"name": "permuted_digits"}})
    assert answer.status_code == 422
    assert "did you mean 'dry_run'?" in answer.json()["detail"]
    assert shared_client.get("/v1/experiments").json()["items"] == []
