"""Signing in by a page: the key is kept where no script reads it, and counts for pages and their calls."""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from service.db import Database
from service.keys import keyring
from tests.service.live import live_api
from tests.service.pages.conftest import NewPage, Site, check_looks, settings_in

HTML = {"Accept": "text/html"}


@pytest.fixture
def locked(sqlite_template: Path, tmp_path: Path) -> Iterator[Site]:
    """A service that asks for keys; ``found`` has a key and the id of this key."""
    settings = settings_in(tmp_path)
    shutil.copy(sqlite_template, tmp_path / "normbench.db")
    db = Database(settings.database_url)
    with db.transaction() as session:
        row, key = keyring.create(session, "ada")
        found = {"key": key, "id": row.id}
    db.close()
    with live_api(settings, require_keys=True) as url:
        yield Site(url, settings, found)


def revoke(site: Site) -> None:
    db = Database(site.settings.database_url)
    with db.transaction() as session:
        keyring.revoke(session, site.found["id"])
    db.close()


def test_a_person_signs_in_works_and_signs_out(locked: Site, new_page: NewPage) -> None:
    page = new_page(locked)
    page.goto("/submit")
    expect(page.get_by_role("heading", level=1)).to_have_text("Unauthorized")
    page.get_by_role("link", name="Sign in with an API key").click()
    page.get_by_label("API key").fill("nb_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#key-error")).to_contain_text("This key is unknown or revoked")
    expect(page.get_by_label("API key")).to_be_focused()
    page.get_by_label("API key").fill(locked.found["key"])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{locked.url}/submit")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(re.compile("/experiments/exp_"))
    assert page.evaluate("fetch('/v1/experiments').then((answer) => answer.status)") == 200
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    page.goto("/submit")
    expect(page.get_by_role("heading", level=1)).to_have_text("Unauthorized")


@pytest.fixture
def foreign(chromium: Browser, locked: Site) -> Iterator[Page]:
    """A page of another site, with a link to the form for a method."""
    context = chromium.new_context(base_url=locked.url)
    page = context.new_page()
    link = f'<a href="{locked.url}/submit?method=rms_norm&amp;task=permuted_digits">try it</a>'
    page.route("http://blog.example/", lambda route: route.fulfill(body=link, content_type="text/html"))
    yield page
    context.close()


def test_a_link_from_another_site_leads_a_signed_in_user_to_the_page(locked: Site, foreign: Page) -> None:
    foreign.goto("/sign-in")
    foreign.get_by_label("API key").fill(locked.found["key"])
    foreign.get_by_role("button", name="Sign in").click()
    foreign.goto("http://blog.example/")
    with foreign.expect_response(re.compile("/submit")) as first:
        foreign.get_by_role("link").click()
    assert first.value.status == 401  # the browser did not send the key
    expect(foreign.get_by_role("heading", level=1)).to_have_text("Submit an experiment or a sweep")
    expect(foreign).to_have_url(f"{locked.url}/submit?method=rms_norm&task=permuted_digits")


def test_a_link_from_another_site_leads_a_user_without_a_key_to_the_sign_in(locked: Site, foreign: Page) -> None:
    foreign.goto("http://blog.example/")
    foreign.get_by_role("link").click()
    expect(foreign.get_by_label("API key")).to_be_visible()
    foreign.get_by_label("API key").fill(locked.found["key"])
    foreign.get_by_role("button", name="Sign in").click()
    expect(foreign).to_have_url(f"{locked.url}/submit?method=rms_norm&task=permuted_digits")


@pytest.mark.parametrize(
    ("site", "moves_on"), [("cross-site", True), ("same-site", True), ("same-origin", False), ("none", False)]
)
def test_a_page_that_the_service_itself_asked_for_stays_a_refusal(locked: Site, site: str, moves_on: bool) -> None:
    """A redirect would go round in circles."""
    followed = {**HTML, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    answer = httpx.get(f"{locked.url}/boards", headers=followed)
    assert answer.status_code == 401
    refresh = '<meta http-equiv="refresh" content="0; url=/sign-in?back=%2Fboards">'
    assert (refresh in answer.text) == moves_on
    assert 'http-equiv="refresh"' not in httpx.get(f"{locked.url}/sign-in?back=/boards", headers=followed).text


def test_the_sign_in_says_that_a_kept_key_is_revoked(locked: Site) -> None:
    kept = {"Cookie": f"normbench_key={locked.found['key']}"}
    back = httpx.get(f"{locked.url}/sign-in?back=/boards", headers=kept)
    assert (back.status_code, back.headers["location"]) == (303, "/boards")
    assert "This browser has a key" in httpx.get(f"{locked.url}/sign-in", headers=kept).text
    revoke(locked)
    answer = httpx.get(f"{locked.url}/sign-in?back=/boards", headers=kept)
    assert answer.status_code == 200
    assert "This key is unknown or revoked" in answer.text
    assert 'name="key"' in answer.text


def test_the_sign_in_says_if_the_service_asks_for_no_key(empty_site: Site) -> None:
    answer = httpx.get(f"{empty_site.url}/sign-in", headers=HTML)
    assert answer.status_code == 200
    assert "does not ask for a key" in answer.text
    assert httpx.post(f"{empty_site.url}/sign-in", data={"key": " "}).status_code == 422


def test_everybody_can_sign_in(locked: Site, new_page: NewPage) -> None:
    page = new_page(locked)
    page.goto("/sign-in")
    check_looks(page)


def shown_calls(text: str) -> list[str]:
    return [html.unescape(call) for call in re.findall("<code>(curl .*?)</code>", text, flags=re.DOTALL)]


def test_calls_are_shown_with_a_key_if_the_service_asks_for_keys(locked: Site, empty_site: Site) -> None:
    kept = {"Cookie": f"normbench_key={locked.found['key']}"}
    for site, key in ((locked, ' -H "Authorization: Bearer $NORMBENCH_API_KEY"'), (empty_site, "")):
        submit = httpx.get(f"{site.url}/submit", headers=kept).text
        assert shown_calls(submit) == [f"curl -s{key} '{site.url}/v1/experiments' --data-binary @spec.yaml"]
        example, listing = shown_calls(httpx.get(f"{site.url}/sweeps", headers=kept).text)
        assert example.startswith(f"curl -s{key} '{site.url}/v1/sweeps' -d '{{")
        assert listing == f"curl -s{key} '{site.url}/v1/sweeps'"
