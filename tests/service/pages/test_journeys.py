"""Journeys on the live pages, with processes of their own: the API goes away and comes back, a worker is told to
stop, many tabs are open.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from service.db import Database
from tests.processes import Service, service
from tests.service.pages.conftest import FAR_FROM_THE_WINDOW, NewPage, Site
from tests.service.pages.figures import drawn, expect_drawn
from tests.service.sample_runs import MAX_STEPS, begun, claimed, finished, measured, recorded, submitted

NOTICED = 60_000  # milliseconds, until a page has noticed that the API is back
STOPPED = 30_000  # milliseconds, from the click to the end of a training


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Service]:
    with service(tmp_path, database_url=f"sqlite:///{tmp_path / 'normbench.db'}") as running:
        yield running


@pytest.fixture
def unwatched(chromium: Browser) -> Iterator[Page]:
    """A page whose console may complain of an API that is away."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def restart(own_service: Service) -> None:
    own_service.kill_all()
    own_service.start("api", "--port", str(own_service.port))
    own_service.wait_ready()


def test_a_curve_grows_and_loses_and_doubles_no_point_while_the_api_restarts(
    own_service: Service, unwatched: Page
) -> None:
    restart(own_service)
    db = Database(f"sqlite:///{own_service.folder / 'normbench.db'}")
    stored = submitted(db)
    lease = claimed(db, lease_seconds=600).lease
    begun(db, lease)
    recorded(db, lease, measured(1), measured(2))
    page = unwatched
    page.goto(f"http://127.0.0.1:{own_service.port}/experiments/{stored.id}")
    expect(page.locator("#live")).to_have_text("live")
    page.locator("#curves-title").scroll_into_view_if_needed()
    expect_drawn(page, seed_0=[(1, 0.01), (2, 0.02)])
    recorded(db, lease, measured(3))
    expect_drawn(page, seed_0=[(1, 0.01), (2, 0.02), (3, 0.03)])
    own_service.kill_all()
    expect(page.locator("#live")).to_have_text("reconnecting")
    recorded(db, lease, measured(4), measured(5))
    restart(own_service)
    expect(page.locator("#live")).to_have_text("live", timeout=NOTICED)
    recorded(db, lease, measured(6))
    everything = [(step, step / 100) for step in range(1, 7)]
    expect_drawn(page, seed_0=everything)
    finished(db, lease)
    db.close()
    expect(page.locator("#live")).to_have_text("ended")
    assert drawn(page) == {"seed 0": everything}


def test_a_training_that_is_cancelled_on_its_page_ends_in_seconds(own_service: Service, unwatched: Page) -> None:
    own_service.up()
    stored = own_service.submit(training={"max_steps": 100_000, "eval_every": 50, "target": 1.0})
    page = unwatched
    page.goto(f"http://127.0.0.1:{own_service.port}/experiments/{stored['id']}")
    own_service.wait_for_step(stored, 50)
    expect(page.locator("#states")).to_contain_text("running")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#states")).to_contain_text("cancelled", timeout=STOPPED)
    expect(page.locator("#live")).to_have_text("ended")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    assert own_service.run_of(stored)["state"] == "cancelled"


def test_seven_tabs_load_though_a_browser_has_six_connections(chromium: Browser, site: Site) -> None:
    """A tab that is hidden gives its connection back, and goes on from where it was when it is shown."""
    context = chromium.new_context(base_url=site.url)
    context.add_init_script(FAR_FROM_THE_WINDOW)
    tabs: list[Page] = []
    for _ in range(7):
        for tab in tabs:
            hide(tab)
        tab = context.new_page()
        tab.goto(f"/experiments/{site.found['running']}", timeout=30_000)
        expect(tab.locator("#live")).to_have_text("live")
        tabs.append(tab)
    context.close()


def hide(tab: Page) -> None:
    """Hide a tab, as the browser does when another is chosen; a headless browser shows all tabs."""
    tab.evaluate(
        """() => {
          Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )


def show(tab: Page) -> None:
    tab.evaluate(
        """() => {
          delete document.visibilityState;
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )


def test_a_tab_that_was_hidden_goes_on_from_where_it_was(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    stored = submitted(db)
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(1))
    page = new_page(fresh_site, figures=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/events?" in request.url else None)
    page.goto(f"/experiments/{stored.id}")
    page.locator("#curves-title").scroll_into_view_if_needed()
    expect_drawn(page, seed_0=[(1, 0.01)])
    recorded(db, lease, measured(2))
    expect_drawn(page, seed_0=[(1, 0.01), (2, 0.02)])
    hide(page)
    recorded(db, lease, measured(3))
    show(page)
    expect_drawn(page, seed_0=[(1, 0.01), (2, 0.02), (3, 0.03)])
    db.close()
    assert [url.rpartition("=")[2] for url in asked] == ["1-1", "1-2"]


def test_points_that_come_while_the_figure_loads_are_drawn_once(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    stored = submitted(db)
    lease = claimed(db).lease
    begun(db, lease)
    page = new_page(fresh_site, figures=True)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/figures/curves*", hold)
    with page.expect_request("**/figures/curves*"):
        page.goto(f"/experiments/{stored.id}")
        page.locator("#curves-title").scroll_into_view_if_needed()
    expect(page.locator("#live")).to_have_text("live")
    recorded(db, lease, measured(1))
    row = page.locator(f"#{stored.runs[0].id}")
    expect(row).to_contain_text(f"1 / {MAX_STEPS}")
    with_one_point = held[0].fetch()
    recorded(db, lease, measured(2))
    expect(row).to_contain_text(f"2 / {MAX_STEPS}")
    held[0].fulfill(response=with_one_point)
    page.unroute("**/figures/curves*")
    expect_drawn(page, seed_0=[(1, 0.01), (2, 0.02)])
    db.close()


def test_all_links_of_experiments_and_workers_work(site: Site, new_page: NewPage) -> None:
    """Links to pages of other modules are tested there."""
    page = new_page(site)
    ours = ("/experiments", "/runs/", "/workers", "/v1/", "/docs", "/static/")
    seen: set[str] = set()
    for path in (
        "/experiments",
        f"/experiments/{site.found['running']}",
        f"/experiments/{site.found['failed']}",
        "/workers",
    ):
        page.goto(path)
        links = page.get_by_role("link").evaluate_all("links => links.map((link) => link.getAttribute('href') ?? '')")
        followed = {link for link in links if link.startswith(ours)}
        assert followed
        seen |= followed
    with httpx.Client(base_url=site.url) as client:
        assert {link: status for link in seen if (status := client.get(link).status_code) != 200} == {}
