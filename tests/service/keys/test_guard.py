"""Services with required keys show nothing without a key."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.db import Database
from service.keys import keyring
from service.settings import Settings

OPEN = {"/healthz", "/readyz"}


@pytest.fixture
def guarded(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings, require_keys=True)) as client:
        yield client


@pytest.fixture
def key(db: Database) -> str:
    with db.transaction() as session:
        return keyring.create(session, "ada")[1]


def calls(client: TestClient) -> list[tuple[str, str]]:
    """Every call of the API by method and path, from its own description."""
    paths = client.get("/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def is_refused(client: TestClient, method: str, path: str, headers: dict[str, str] | None = None) -> bool:
    answer = client.request(method, path, headers=headers or {})
    if answer.status_code != 401:
        return False
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 401
    return True


def test_every_call_without_a_key_is_refused_and_says_how_to_send_a_key(guarded: TestClient) -> None:
    all_calls = calls(guarded)
    assert len(all_calls) >= 20
    assert {path for _, path in all_calls} >= {"/v1/experiments", "/v1/runs/{run_id}/events", "/metrics", "/v1/workers"}
    open_ones = {path for method, path in all_calls if not is_refused(guarded, method, path)}
    assert open_ones == OPEN


@pytest.mark.parametrize(
    "header",
    ["nb_wrong", "Bearer", "Bearer ", "Bearer nb_wrong", "Basic YTpi", "Bearer " + "x" * 10_000, "Bearer a b"],
)
def test_an_invalid_key_is_refused(guarded: TestClient, key: str, header: str) -> None:
    assert is_refused(guarded, "GET", "/v1/tasks", {"Authorization": header})


def test_a_key_opens_everything_until_it_is_revoked(guarded: TestClient, db: Database, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    assert not any(is_refused(guarded, method, path, headers) for method, path in calls(guarded))
    assert guarded.get("/v1/tasks", headers=headers).status_code == 200
    with db.transaction() as session:
        keyring.revoke(session, keyring.keys(session)[0].id)
    assert is_refused(guarded, "GET", "/v1/tasks", headers)


def test_a_key_that_is_asked_for_comes_before_the_body_is_looked_at(guarded: TestClient) -> None:
    answer = guarded.post("/v1/experiments", content=b"[" * 2_000_000)
    assert answer.status_code == 401


def test_no_key_is_asked_for_on_the_users_own_machine(client: TestClient) -> None:
    assert client.get("/v1/tasks").status_code == 200
    assert client.get("/metrics").status_code == 200
    assert client.get("/v1/tasks", headers={"Authorization": "Bearer nb_any"}).status_code == 200


def test_the_description_asks_for_a_key_just_where_the_service_does(guarded: TestClient, settings: Settings) -> None:
    paths = guarded.get("/openapi.json").json()["paths"]
    open_ones = {path for path, methods in paths.items() for call in methods.values() if "security" not in call}
    assert open_ones == OPEN
    assert "security" not in create_app(settings, require_keys=False).openapi()["paths"]["/v1/tasks"]["get"]
