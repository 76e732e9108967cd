"""Files, the choice of colours and the description of the API."""

import gzip
import re

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from service.pages.static import FILES
from tests.service.pages.conftest import LOOKS, NewPage, Site, check_looks
from tests.service.pages.test_targets import check_targets


def test_files_are_kept_for_good_and_compressed_once(shared_client: TestClient) -> None:
    address = FILES.address("plotly.min.js")
    answer = shared_client.get(address)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 2_000_000 < len(answer.content)
    plain = shared_client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content == gzip.decompress(FILES.compress_file("plotly.min.js"))


@pytest.mark.parametrize("path", ["/static/0000000000000000/page.js", f"/static/{FILES.digest}/../formats.py"])
def test_files_outside_the_public_folder_are_not_found(shared_client: TestClient, path: str) -> None:
    assert shared_client.get(path).status_code == 404
    assert shared_client.get(f"/static/{FILES.digest}/formats.py").status_code == 404


@pytest.mark.parametrize(("back", "to"), [("/boards?a=1", "/boards?a=1"), ("//evil.example", "/"), ("/\\evil", "/")])
def test_the_choice_of_colours_is_kept_and_leads_back_to_our_pages_alone(
    shared_client: TestClient, back: str, to: str
) -> None:
    answer = shared_client.post("/theme", data={"theme": "dark", "back": back}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, to)
    assert answer.headers["set-cookie"].startswith("theme=dark;")
    assert 'data-theme="dark"' in shared_client.get("/", headers={"Cookie": "theme=dark"}).text
    forgotten = shared_client.post("/theme", data={"theme": "system", "back": "/"}, follow_redirects=False)
    assert "Max-Age=0" in forgotten.headers["set-cookie"]
    assert "data-theme" not in shared_client.get("/", headers={"Cookie": "theme=<b>"}).text


def test_a_page_of_another_site_cannot_choose_the_colours(shared_client: TestClient) -> None:
    answer = shared_client.post("/theme", data={"theme": "dark"}, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


def test_no_page_has_a_script_or_a_style_of_its_own(shared_client: TestClient) -> None:
    answer = shared_client.get("/docs")
    assert answer.headers["content-security-policy"].startswith("default-src 'self'; object-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style| style=| on[a-z]+=", answer.text)


def test_the_api_is_described_and_tried_in_both_themes(empty_site: Site, new_page: NewPage) -> None:
    page = new_page(empty_site)
    page.goto("/docs")
    operation = page.locator("#operations-experiments-submit_experiment_v1_experiments_post")
    expect(operation).to_contain_text("/v1/experiments")
    operation.get_by_role("button", name="/v1/experiments").first.click()
    expect(operation.get_by_label("dry_run")).to_have_value("true")
    check_targets(page)
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table")
    expect(answer.locator(".response-col_status").last).to_contain_text("200")
    for look, ground in zip(LOOKS, ("rgb(237, 240, 243)", "rgb(31, 37, 44)"), strict=True):
        check_looks(page, [look])
        shown = answer.locator("pre").first.evaluate("(one) => getComputedStyle(one).backgroundColor")
        assert shown == ground


GROUND = "getComputedStyle(document.documentElement).backgroundColor"


def test_colours_change_by_a_click_and_stay(empty_site: Site, new_page: NewPage) -> None:
    page = new_page(empty_site)
    page.goto("/")
    assert page.evaluate(GROUND) == "rgb(246, 247, 249)"
    page.get_by_role("button", name="dark", exact=True).click()
    expect(page.get_by_role("button", name="dark", exact=True)).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(GROUND) == "rgb(15, 18, 22)"
    page.goto("/docs")
    assert page.evaluate(GROUND) == "rgb(15, 18, 22)"


def test_colours_change_at_once_for_those_who_want_less_motion(empty_site: Site, new_page: NewPage) -> None:
    """Pages of tests open with less motion."""
    page = new_page(empty_site)
    page.goto("/")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(f"[{GROUND}, document.getAnimations().length]") == ["rgb(15, 18, 22)", 0]
