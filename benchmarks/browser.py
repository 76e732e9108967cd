"""Pages in a browser: Debian's chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator, Sequence

from playwright.sync_api import sync_playwright

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
FIRST_PAINT = """() => new Promise(told => new PerformanceObserver(seen => {
    for (const entry of seen.getEntriesByName("first-contentful-paint")) told(entry.startTime);
}).observe({type: "paint", buffered: true}))"""


def first_paints(port: int, paths: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield each path with the milliseconds until its page first shows something, in a browser with an empty cache.

    Yields nothing if chromium is not installed.
    """
    program = shutil.which("chromium")
    if program is None:
        return
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=program, args=FLAGS) as browser:
        for path in paths:
            page = browser.new_context().new_page()
            page.goto(f"http://127.0.0.1:{port}{path}")
            yield path, page.evaluate(FIRST_PAINT)
