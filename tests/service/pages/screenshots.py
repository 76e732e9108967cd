"""``python -m tests.service.pages.screenshots docs/pictures``: what pages look like, with what tests measured."""

import sys
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.service.pages.conftest import ARGUMENTS, CHROMIUM, PHONE, WIDE, Site, demo_in


def paths(found: Mapping[str, str]) -> Mapping[str, str]:
    """The pages by the names of their pictures."""
    compared = "&".join(f"fingerprint={found[one]}" for one in ("recurrent_batch_norm", "layer_norm", "none"))
    return {
        "overview": "/",
        "boards": "/boards?profile=paper",
        "board": "/boards/permuted_mnist?profile=paper",
        "compare": f"/compare?{compared}",
        "experiments": "/experiments",
        "experiment": f"/experiments/{found['running']}",
        "submit": "/submit?task=permuted_digits&profile=small&method=recurrent_batch_norm",
        "methods": "/methods",
        "method": "/methods/layer_norm",
        "task": "/tasks/permuted_mnist",
        "sweeps": "/sweeps",
        "workers": "/workers",
    }


def main(folder: Path) -> None:
    """Take pictures of wide pages in the light theme, and of pages on a phone in the dark theme."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        contextmanager(demo_in(Path(scratch)).site_in)(Path(scratch)) as site,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS]) as browser,
    ):
        for name, path in paths(site.found).items():
            for kind, size, theme in (("wide", WIDE, "light"), ("phone", PHONE, "dark")):
                picture = _taken(browser, site, path, size, theme)
                picture.save(folder / f"{name}-{kind}.png", optimize=True)


def _taken(browser: Browser, site: Site, path: str, size: tuple[int, int], theme: str) -> Image.Image:
    """The top of a page, as much as a window of this size shows."""
    context = browser.new_context(
        base_url=site.url,
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": size[0], "height": size[1]},
    )
    page = context.new_page()
    page.goto(path)
    page.wait_for_timeout(1500)  # until a figure in view is drawn
    picture = Image.open(BytesIO(page.screenshot()))
    context.close()
    return picture.convert("RGB").quantize(method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
