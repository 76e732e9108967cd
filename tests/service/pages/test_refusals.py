"""Refusals: pages for browsers, problems for programs."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.pages import overview
from service.pages.static import FILES
from service.settings import Settings
from tests.service.pages.conftest import NewPage, Site, check_looks

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_a_browser_gets_a_page_with_the_status_and_a_next_step(shared_client: TestClient) -> None:
    answer = shared_client.get("/nothing", headers=HTML)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Not found</h1>" in answer.text
    assert "nothing is at this address" in answer.text
    assert 'href="/boards"' in answer.text


def test_programs_get_a_problem_and_not_a_page(shared_client: TestClient) -> None:
    for path, headers in (("/nothing", {}), ("/v1/nothing", HTML)):
        answer = shared_client.get(path, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
        assert answer.json()["title"] == "Not found"


def test_an_unknown_parameter_is_refused_and_its_name_is_text(shared_client: TestClient) -> None:
    answer = shared_client.get("/", params={"<script>": "1"}, headers=HTML)
    assert answer.status_code == 422
    assert "<code>&lt;script&gt;</code>: unknown parameter" in answer.text


def test_pages_refuse_another_host_and_another_origin(shared_client: TestClient) -> None:
    host = shared_client.get("/", headers={**HTML, "Host": "evil.example"})
    assert host.status_code == 421
    assert "evil.example" in host.text
    assert host.headers["content-security-policy"]
    origin = shared_client.post("/theme", data={"theme": "dark"}, headers={**HTML, "Origin": "https://evil.example"})
    assert (origin.status_code, origin.headers["content-type"]) == (403, "text/html; charset=utf-8")


def test_a_defect_is_a_page_without_its_traceback(shared_client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **values: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(overview, "page", broken)
    quiet = TestClient(shared_client.app, raise_server_exceptions=False)
    answer = quiet.get("/", headers=HTML)
    assert (answer.status_code, answer.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "Internal error" in answer.text
    assert "secret" not in answer.text


def test_everybody_can_read_a_refusal(empty_site: Site, new_page: NewPage) -> None:
    page = new_page(empty_site)
    page.goto("/nothing")
    check_looks(page)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_page_that_needs_a_key_leads_to_the_sign_in(settings: Settings) -> None:
    with TestClient(create_app(settings, require_keys=True)) as client:
        answer = client.get("/boards", headers=HTML)
        assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
        assert 'href="/sign-in?back=%2Fboards"' in answer.text
        assert client.get(FILES.address("tokens.css")).status_code == 200
