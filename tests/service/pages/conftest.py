"""Pages in a real browser, from a real server on a real database. Messages of the console and requests are watched."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from service.db import Database
from service.processes.migrate import migrate
from service.settings import Settings
from tests.service.live import live_api
from tests.service.pages import demo, real_size

CHROMIUM = os.environ.get("NORMBENCH_TEST_CHROMIUM", "/usr/bin/chromium-headless-shell")
"""A browser without windows: it starts a page in half the processor time of the one with windows."""
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = Axe().axe_script
SEVERE = ("moderate", "serious", "critical")
WIDE, PHONE = (1280, 900), (390, 844)
LOOKS = ((WIDE, "light"), (PHONE, "dark"))
"""Both sizes and both themes. No colour depends on the size and no layout on the theme, so two of the four pairs show
all of a page; the first page is shown in all four."""
each_look = pytest.mark.parametrize(("size", "theme"), LOOKS, ids=["wide", "phone"])
"""Opens a page in each look, for what a script decides when it begins, as the layout of a figure."""

FAR_FROM_THE_WINDOW = "window.IntersectionObserver = class { observe() {} unobserve() {} disconnect() {} };"
"""A script that keeps a page from drawing its figures, which takes a second of processor time."""

expect.set_options(timeout=90_000)  # milliseconds: a busy machine takes its time


@dataclass
class Site:
    """A running service.

    Attributes:
        found: ids of what was put into the database, by name.
    """

    url: str
    settings: Settings
    found: dict[str, str] = field(default_factory=dict)


@dataclass
class BrowserLog:
    """Complaints of a page: messages of its console, errors, requests to other hosts."""

    complaints: list[str] = field(default_factory=list)

    def watch(self, page: Page, host: str) -> None:
        def heard(message: ConsoleMessage) -> None:
            refused = message.text.startswith("Failed to load resource") and message.location["url"] == page.url
            if message.type in ("error", "warning") and not refused:  # the page of a refusal is shown, too
                self.complaints.append(f"console: {message.text}")

        def asked(request: Request) -> None:
            address = urlsplit(request.url)
            if address.scheme not in ("data", "blob") and address.netloc != host:
                self.complaints.append(f"foreign request: {request.url}")

        page.on("console", heard)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", asked)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Browser until the process leaves this folder. While it is open, no test of the process can run an event loop."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs a browser: {CHROMIUM} is not installed (NORMBENCH_TEST_CHROMIUM names another)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        yield browser
        browser.close()


def settings_in(folder: Path) -> Settings:
    """Settings of a service whose data is in a folder."""
    return Settings(
        data_dir=folder,
        datasets_dir=folder / "datasets",
        database_url=f"sqlite:///{folder / 'normbench.db'}",
        broker_url="filesystem://localhost",
        artifacts_url=str(folder / "artifacts"),
    )


def site_in(folder: Path, template: Path, found: Mapping[str, str] | None = None) -> Iterator[Site]:
    """A running service whose data is in a folder, and begins with a copy of a database."""
    settings = settings_in(folder)
    shutil.copy(template, folder / "normbench.db")
    with live_api(settings) as url:
        yield Site(url, settings, dict(found or {}))


@dataclass(frozen=True)
class Demo:
    """A database that has measured much (``tests.service.pages.demo``, ``tests.service.pages.real_size``).

    Attributes:
        found: ids of what is in it, by name.
    """

    path: Path
    found: Mapping[str, str]

    def site_in(self, folder: Path) -> Iterator[Site]:
        """A running service on a copy of the database."""
        return site_in(folder, self.path, self.found)


def demo_in(folder: Path, fill: Callable[[Database], Mapping[str, str]] = demo.fill, name: str = "demo") -> Demo:
    """The database in a folder, filled by the first test process that needs it."""
    path, found = folder / f"{name}.db", folder / f"{name}.json"
    with FileLock(folder / f"{name}.lock"):
        if not found.exists():
            path.unlink(missing_ok=True)
            db = Database(f"sqlite:///{path}")
            migrate(db)
            ids = fill(db)
            db.close()
            found.write_text(json.dumps(ids))
    return Demo(path, json.loads(found.read_text()))


def _shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder that all test processes share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session", name="demo")
def demo_database(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Demo:
    """The database that all test processes share; they copy it."""
    return demo_in(_shared_folder(tmp_path_factory, worker_id))


@pytest.fixture(scope="session")
def site(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service that has measured much; tests leave it as it is."""
    yield from demo.site_in(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def month(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Demo:
    """The database at real size (``tests.service.pages.real_size``), which all test processes share; they copy it."""
    return demo_in(_shared_folder(tmp_path_factory, worker_id), real_size.fill, "month")


@pytest.fixture(scope="session")
def month_site(month: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service that a group has used for a month; tests leave it as it is."""
    yield from month.site_in(tmp_path_factory.mktemp("month"))


@pytest.fixture(scope="session")
def empty_site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service on which nothing was submitted; tests leave it so."""
    yield from site_in(tmp_path_factory.mktemp("empty"), sqlite_template)


@pytest.fixture
def fresh_site(sqlite_template: Path, tmp_path: Path) -> Iterator[Site]:
    """A service of the test's own, empty."""
    yield from site_in(tmp_path, sqlite_template)


NewPage = Callable[..., Page]


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[NewPage]:
    """Opens pages: ``new_page(site, theme="dark", size=PHONE, scripts=False)``. After the test none of them may have
    complained. Only with ``figures=True`` do scripts hear of what comes near the window, and draw figures."""
    contexts: list[BrowserContext] = []
    watched = BrowserLog()

    def new(
        site: Site, *, theme: str = "light", size: tuple[int, int] = WIDE, scripts: bool = True, figures: bool = False
    ) -> Page:
        context = chromium.new_context(
            base_url=site.url,
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": size[0], "height": size[1]},
            java_script_enabled=scripts,
            reduced_motion="reduce",
            has_touch=size == PHONE,
        )
        contexts.append(context)
        if not figures:
            context.add_init_script(FAR_FROM_THE_WINDOW)
        page = context.new_page()
        watched.watch(page, urlsplit(site.url).netloc)
        return page

    yield new
    for context in contexts:
        context.close()
    assert watched.complaints == []


SETTLED = """async () => {
  const moving = () => document.getAnimations().filter((one) => one instanceof CSSTransition);
  for (let all = moving(); all.length; all = moving()) await Promise.allSettled(all.map((one) => one.finished));
}"""


def change_look(page: Page, size: tuple[int, int], theme: str = "light") -> None:
    """Show an open page in another look, and wait until nothing of it changes any more."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.evaluate(SETTLED)


def check_looks(page: Page, looks: Sequence[tuple[tuple[int, int], str]] = LOOKS) -> None:
    """Check that the page is accessible and fits into the window in each look. All differences are those of style
    sheets, so the page need not be opened again; it keeps the last look."""
    for size, theme in looks:
        change_look(page, size, theme)
        check_accessible(page)
        check_fits(page)


def check_accessible(page: Page) -> None:
    """Check that axe finds no problem that is moderate or worse."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    options = {"resultTypes": ["violations"], "selectors": False}  # nothing that is not told below
    found = page.evaluate("(options) => axe.run(options).then(({ violations }) => violations)", options)
    told = [
        f"{violation['id']} ({violation['impact']}): {violation['help']}: "
        + "; ".join(node["html"][:200] for node in violation["nodes"][:3])
        for violation in found
        if violation["impact"] in SEVERE
    ]
    assert told == [], f"{page.url} at {page.viewport_size}"


def check_fits(page: Page) -> None:
    """Check that no element is wider than the window, except those that scroll by themselves."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{page.url} is {wide} pixels wider than the window at {page.viewport_size}"
