"""The first page, in a browser."""

from itertools import product
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from tests.service.pages.conftest import PHONE, WIDE, NewPage, Site, check_looks


@pytest.mark.parametrize("which", ["site", "empty_site"])
def test_everybody_can_use_the_first_page(request: pytest.FixtureRequest, new_page: NewPage, which: str) -> None:
    page = new_page(request.getfixturevalue(which))
    page.goto("/")
    check_looks(page, [*product((WIDE, PHONE), ("light", "dark"))])


def test_an_empty_service_says_what_to_do(empty_site: Site, new_page: NewPage) -> None:
    page = new_page(empty_site)
    page.goto("/")
    expect(page.locator(".operations")).to_contain_text("0 running, 0 queued, 0 workers, 0 failed")
    expect(page.locator(".answer")).to_have_count(0)
    expect(page.locator(".empty")).to_contain_text("normbench demo")
    expect(page.locator(".empty").get_by_role("link", name="Submit an experiment")).to_have_attribute("href", "/submit")


def test_the_first_page_shows_runs_under_way_and_standings(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/")
    expect(page.locator(".verdict")).to_have_text(
        "recurrent_batch_norm leads on 1 of 2 tasks and ties for first on 1; fastest: layer_norm, ×2.14."
    )
    expect(page.locator(".operations")).to_contain_text("1 running, 7 queued, 0 workers, 2 failed.")
    expect(page.locator(".operations")).to_contain_text("No worker is alive to train the queued runs")
    row = page.locator(".standings tr", has_text="recurrent_batch_norm")
    assert [cell.split() for cell in row.locator("td").all_inner_texts()] == [["1", "96.11%"], ["1", "tied", "98.62%"]]
    page.get_by_role("table").get_by_role("link", name="permuted_mnist").click()
    expect(page).to_have_url(f"{site.url}/boards/permuted_mnist?profile=paper")
    page.goto("/")
    expect(page.get_by_role("region", name="Ranks by method and board")).to_be_visible()
    expect(page.locator(".running")).to_contain_text("rms_norm on permuted_digits")
    expect(page.get_by_role("link", name="rms_norm on permuted_digits")).to_have_attribute(
        "href", f"/experiments/{site.found['running']}"
    )


def test_the_latest_results_have_their_values(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/")
    shown = page.locator("section", has=page.locator("#latest-title")).locator("ul").first.get_by_role("listitem")
    newest = httpx.get(f"{site.url}/v1/experiments?state=succeeded&limit=5").json()["items"]
    expect(shown).to_have_count(5)
    for item, experiment in zip(shown.all(), newest, strict=True):
        runs = httpx.get(f"{site.url}/v1/experiments/{experiment['id']}").json()["runs"]
        values = [run["result"]["value"] for run in runs if run["outcome"] != "diverged"]
        expected = [f"{100 * sum(values) / len(values):.2f}%"] if values else []
        assert item.locator("strong").all_inner_texts() == expected


def test_another_profile_is_chosen_by_a_click(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/")
    page.get_by_label("small", exact=True).check(force=True)
    page.wait_for_url("**profile=small")
    expect(page.locator(".standings thead")).to_contain_text("permuted_digits")


def test_links_among_the_first_page_boards_and_comparisons_work(site: Site, new_page: NewPage) -> None:
    """Only links to these pages are tested; experiments, methods and others have their own tests."""
    page = new_page(site, scripts=False)
    seen: set[str] = set()
    for path in ("/", "/boards", "/boards/permuted_mnist?profile=paper&entries=all", "/compare", "/docs"):
        page.goto(path)
        links = page.locator("main a[href^='/'], header a[href^='/'], footer a[href^='/']")
        seen |= set(links.evaluate_all("links => links.map((link) => link.getAttribute('href'))"))
    ours = {link for link in seen if urlsplit(link).path.split("/")[1] in ("", "boards", "compare", "docs", "v1")}
    assert len(ours) > 20
    with httpx.Client(base_url=site.url) as client:
        assert {link: status for link in ours if (status := client.get(link).status_code) != 200} == {}
