"""A parameter that a route does not have is refused, with the closest parameter that the route has."""

import pytest
from starlette.testclient import TestClient

UNKNOWN: list[tuple[str, str, str]] = [
    ("/v1/experiments?taks=char_lm", "taks", "did you mean 'task'?"),
    ("/v1/experiments?task=char_lm&limt=2", "limt", "did you mean 'limit'?"),
    ("/v1/leaderboards/permuted_digits?profil=small", "profil", "did you mean 'profile'?"),
    ("/v1/tasks?name=char_lm", "name", "this address takes no parameters"),
    ("/v1/runs/run_1?x", "x", "this address takes no parameters"),
    ("/v1/runs/run_1/measurements?serie=a", "serie", "did you mean 'series'?"),
    ("/v1/runs/run_1/events?last-event-id=1-2", "last-event-id", "did you mean 'last_event_id'?"),
    ("/healthz?deep=1", "deep", "this address takes no parameters"),
    ("/metrics?name=a", "name", "this address takes no parameters"),
    ("/openapi.json?x=1", "x", "this address takes no parameters"),
    ("/docs?x=1", "x", "this address takes no parameters"),
]


@pytest.mark.parametrize(("path", "name", "meant"), UNKNOWN)
def test_an_unknown_parameter_is_named(shared_client: TestClient, path: str, name: str, meant: str) -> None:
    answer = shared_client.get(path)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    [error] = answer.json()["errors"]
    assert (error["loc"], error["type"]) == ([name], "unknown_parameter")
    assert meant in error["msg"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/experiments?task=char_lm&task=permuted_digits", "task"),
        ("/v1/experiments?limit=1&label=a:b&limit=1", "limit"),
        ("/v1/leaderboards/permuted_digits?profile=small&profile=", "profile"),
        ("/v1/runs/run_1/events?last_event_id=1-2&last_event_id=1-3", "last_event_id"),
    ],
)
def test_a_parameter_that_takes_one_value_is_not_given_two(shared_client: TestClient, path: str, name: str) -> None:
    answer = shared_client.get(path)
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["loc"], error["type"]) == ([name], "doubled_parameter")
    assert "keep one" in error["msg"]


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("2026-11-25T12:00:00", "say in which time zone it is, as 2026-11-25T12:00:00Z"),
        ("2026-11-25T12:00:00+01:00", "expected a moment with its time zone, as 2026-11-25T12:00:00Z"),
        ("yesterday", "expected a moment with its time zone, as 2026-11-25T12:00:00Z"),
    ],
    ids=["without a zone", "+ that was not quoted is a space", "a word"],
)
def test_an_invalid_time_is_refused_with_an_example(shared_client: TestClient, moment: str, said: str) -> None:
    answer = shared_client.get(f"/v1/leaderboards/permuted_digits?as_of={moment}")
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["loc"], error["msg"]) == (["as_of"], said)


@pytest.mark.parametrize("path", ["/v1/experiments/", "/v1/tasks/", "/healthz/", "/docs/", "/openapi.json/"])
def test_an_address_with_a_slash_at_its_end_is_not_found(shared_client: TestClient, path: str) -> None:
    answer = shared_client.get(path, follow_redirects=False)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert "leave out the slash" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/tasks/permuted_digist", "permuted_digits"),
        ("/v1/methods/layernorm", "layer_norm"),
        ("/v1/methods/layernorm/report-card", "layer_norm"),
        ("/v1/leaderboards/permuted_digit", "permuted_digits"),
    ],
)
def test_an_unknown_name_is_refused_with_the_closest_known_name(
    shared_client: TestClient, path: str, meant: str
) -> None:
    answer = shared_client.get(path)
    assert answer.status_code == 404
    assert f"did you mean '{meant}'? choose from" in answer.json()["detail"]


def test_a_misspelt_dry_run_stores_nothing(shared_client: TestClient) -> None:
    answer = shared_client.post("/v1/experiments?dryrun=true", json={"task": {"name": "permuted_digits"}})
    assert answer.status_code == 422
    assert "did you mean 'dry_run'?" in answer.json()["detail"]
    assert shared_client.get("/v1/experiments").json()["items"] == []
