"""The key that a browser keeps: read by no script, sent to this service alone, and worth nothing to other pages."""

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.db import Database
from service.keys import keyring
from service.settings import Settings
from tests.service.sample_runs import written

PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def guarded(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings, require_keys=True), follow_redirects=False) as client:
        yield client


@pytest.fixture
def key(db: Database) -> str:
    with db.transaction() as session:
        return keyring.create(session, "ada")[1]


def test_the_key_cookie_is_http_only_and_same_site(guarded: TestClient, key: str) -> None:
    answer = guarded.post("/sign-in", data={"key": key, "back": "//evil.example"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    kept = answer.headers["set-cookie"].lower()
    assert kept.startswith(f"normbench_key={key.lower()};")
    assert "httponly" in kept
    assert "samesite=strict" in kept
    assert "secure" not in kept  # a secure cookie would not be sent back over plain HTTP


def test_the_key_cookie_is_sent_only_over_tls_if_it_was_set_over_tls(settings: Settings, key: str) -> None:
    app = create_app(settings, require_keys=True)
    with TestClient(app, base_url="https://testserver", follow_redirects=False) as client:
        assert "secure" in client.post("/sign-in", data={"key": key}).headers["set-cookie"].lower()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (PAGE, 201),
        ({"Sec-Fetch-Site": "none"}, 201),
        ({"Origin": "http://testserver"}, 201),
        ({}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_the_key_cookie_allows_changes_only_from_pages_of_ours(
    guarded: TestClient, key: str, sent: dict[str, str], status: int
) -> None:
    guarded.cookies.set("normbench_key", key)
    assert guarded.get("/v1/experiments").status_code == 200
    assert guarded.post("/v1/experiments", json=written(), headers=sent).status_code == status


def test_a_revoked_or_unknown_key_in_the_cookie_is_refused(guarded: TestClient, db: Database, key: str) -> None:
    guarded.cookies.set("normbench_key", key)
    assert guarded.get("/submit").status_code == 200
    with db.transaction() as session:
        keyring.revoke(session, keyring.keys(session)[0].id)
    assert guarded.get("/submit").status_code == 401
    assert guarded.post("/v1/experiments", json=written(), headers=PAGE).status_code == 401
    guarded.cookies.set("normbench_key", "nb_wrong")
    assert guarded.get("/v1/experiments").status_code == 401


def test_a_programs_own_key_counts_before_the_cookie(guarded: TestClient, key: str) -> None:
    guarded.cookies.set("normbench_key", "nb_wrong")
    bearer = {"Authorization": f"Bearer {key}"}
    assert guarded.post("/v1/experiments", json=written(), headers=bearer).status_code == 201


def test_a_form_of_a_page_carries_what_only_that_browsers_pages_know(guarded: TestClient, key: str) -> None:
    guarded.cookies.set("normbench_key", key)
    token = _token(guarded.get("/submit").text)
    assert key not in token
    spec = {"task.name": "permuted_digits", "task.profile": "smoke", "norm.method": "none", "action": "submit"}
    for wrong in ({}, {"csrf_token": ""}, {"csrf_token": token[:-1] + "é"}, {"csrf_token": "0" * len(token)}):
        refused = guarded.post("/submit", data={**spec, **wrong}, headers=PAGE)
        assert (refused.status_code, "load the page again" in refused.text) == (403, True), wrong
    assert guarded.get("/v1/experiments").json()["items"] == []
    submitted = guarded.post("/submit", data={**spec, "csrf_token": token}, headers=PAGE)
    assert submitted.status_code == 303
    experiment = submitted.headers["location"]
    for action in ("cancel", "retry"):
        assert guarded.post(f"{experiment}/{action}", headers=PAGE).status_code == 403
        sent = {"csrf_token": _token(guarded.get(experiment).text)}
        assert guarded.post(f"{experiment}/{action}", data=sent, headers=PAGE).status_code == 303
    assert guarded.post("/sign-out", headers=PAGE).status_code == 403
    signed_out = guarded.post("/sign-out", data={"csrf_token": token}, headers=PAGE)
    assert (signed_out.status_code, "max-age=0" in signed_out.headers["set-cookie"].lower()) == (303, True)


def test_each_key_has_its_own_token_on_cached_pages(guarded: TestClient, db: Database, key: str) -> None:
    with db.transaction() as session:
        other = keyring.create(session, "bob")[1]
    tokens = []
    for each in (key, other, key):
        guarded.cookies.set("normbench_key", each)
        tokens.append(_token(guarded.get("/methods/none").text))
    assert tokens[0] == tokens[2] != tokens[1]


def _token(page: str) -> str:
    [token] = set(re.findall(r'name="csrf_token" value="([0-9a-f]{64})"', page))
    return str(token)
