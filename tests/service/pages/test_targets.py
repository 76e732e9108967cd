"""Targets are large enough to be hit: 44 pixels each way on phones (WCAG 2.5.5), 24 elsewhere (2.5.8). Only a link
within a sentence is as high as its line.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from service.db import Database
from tests.service.pages.conftest import PHONE, WIDE, Demo, NewPage, Site, change_look
from tests.service.pages.sample_pages import card, sweep_of_two_axes
from tests.service.pages.screenshots import paths

TOO_SMALL = """(least) => {
  const isHit = (box) => box.width > least - 0.5 && box.height > least - 0.5;
  const inSentence = (one) => one.matches("a") && getComputedStyle(one).display === "inline"
    && [...one.parentElement.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  return [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
    .filter((one) => one.type !== "hidden" && one.checkVisibility({ visibilityProperty: true }))
    .filter((one) => !one.matches(".skip") && !inSentence(one))
    .filter((one) => ![one, ...(one.labels ?? [])].some((each) => isHit(each.getBoundingClientRect())))
    .map((one) => one.outerHTML);
}"""


@pytest.fixture(scope="module")
def full_site(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service that has something to show on each page."""
    for site in demo.site_in(tmp_path_factory.mktemp("full")):
        db = Database(site.settings.database_url)
        card(db)
        site.found["sweep"] = sweep_of_two_axes(db)
        db.close()
        yield site


def open_all(page: Page) -> None:
    """Unfold everything that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def check_targets(page: Page) -> None:
    """Check the targets of a page in a wide window and on a phone."""
    for size, least in ((WIDE, 24), (PHONE, 44)):
        change_look(page, size)
        assert page.evaluate(TOO_SMALL, least) == [], f"{page.url} at {size}"


def test_targets_on_all_pages_are_large_enough_to_press(full_site: Site, new_page: NewPage) -> None:
    found = full_site.found
    page = new_page(full_site)
    further = ("/tasks", "/sign-in", "/boards/sequential_digits?profile=smoke", "/experiments?state=failed")
    for path in (*paths(found).values(), f"/experiments/{found['failed']}", f"/sweeps/{found['sweep']}", *further):
        page.goto(path)
        open_all(page)
        check_targets(page)
    page.goto(f"/experiments/{found['failed']}")
    page.get_by_role("link", name="seed 0").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Seed 0")
    open_all(page)
    check_targets(page)
