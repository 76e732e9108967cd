"""The key that a browser keeps: read by no script, sent to this service alone, and worth nothing to other pages."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.db import Database
from service.keys import keyring
from service.settings import Settings
from tests.service.given import written

PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def guarded(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings, require_keys=True), follow_redirects=False) as client:
        yield client


@pytest.fixture
def key(db: Database) -> str:
    with db.transaction() as session:
        return keyring.create(session, "ada")[1]


def test_no_script_reads_it_and_no_other_site_has_it_sent(guarded: TestClient, key: str) -> None:
    answer = guarded.post("/sign-in", data={"key": key, "back": "//evil.example"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    kept = answer.headers["set-cookie"].lower()
    assert kept.startswith(f"normbench_key={key.lower()};")
    assert "httponly" in kept
    assert "samesite=strict" in kept
    assert "secure" not in kept  # which plain HTTP would not send back
    assert "max-age=0" in guarded.post("/sign-out").headers["set-cookie"].lower()


def test_over_tls_it_is_sent_over_tls_alone(settings: Settings, key: str) -> None:
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
def test_it_changes_something_only_if_a_page_of_ours_asks(
    guarded: TestClient, key: str, sent: dict[str, str], status: int
) -> None:
    guarded.cookies.set("normbench_key", key)
    assert guarded.get("/v1/experiments").status_code == 200
    assert guarded.post("/v1/experiments", json=written(), headers=sent).status_code == status


def test_a_key_that_is_revoked_or_none_is_refused(guarded: TestClient, db: Database, key: str) -> None:
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
