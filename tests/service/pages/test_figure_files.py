"""Figures and tables of pages as files for papers: links to the server, and figures that the page saves itself."""

import re
from html import unescape
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.service.pages.conftest import NewPage, Site
from tests.service.pages.test_comparison_page import FOUR, address

BOARD = "/boards/permuted_mnist?profile=paper"


def links(html: str) -> dict[str, str]:
    """Addresses of a page's links to files, by their texts: "SVG of the differences"."""
    found = re.findall(r'<a href="([^"]*)"[^>]* download>(.*?)</a>', html)
    by_text = {re.sub("<.*?>", "", text): unescape(href) for href, text in found}
    assert len(by_text) == len(found), "no two links have one name"
    return by_text


@pytest.mark.parametrize(
    ("path", "of"),
    [
        (BOARD, {"LaTeX of this board", "CSV of this board", "PDF of the intervals of this board"}),
        ("/boards?profile=paper", {"Markdown of these areas", "PNG of Performance profiles of 7 methods"}),
        ("/methods/layer_norm", {"LaTeX of this method", "Markdown of this method"}),
        ("", {"LaTeX of this comparison", "SVG of the differences", "PDF of the speed-ups"}),
    ],
)
def test_pages_link_their_figures_and_tables_as_files(site: Site, path: str, of: set[str]) -> None:
    answer = httpx.get(site.url + (path or address(site, *FOUR)), headers={"Accept": "text/html"})
    found = links(answer.text)
    assert of <= found.keys()
    for text in of:
        file = httpx.get(site.url + found[text], timeout=60)
        assert file.status_code == 200, file.text
        assert file.headers["content-disposition"].startswith("attachment")


def test_the_page_saves_a_drawn_figure_without_printing_it_on_the_server(
    site: Site, new_page: NewPage, tmp_path: Path
) -> None:
    page = new_page(site, theme="dark", figures=True)
    page.goto(BOARD)
    page.locator("[data-figure]").scroll_into_view_if_needed()
    expect(page.locator("[data-figure][data-drawn]")).to_have_count(1, timeout=90_000)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for format in ("svg", "png"):
        with page.expect_download() as download:
            page.locator(f"[data-figure] + .files [data-save={format}]").click()
        assert download.value.suggested_filename == f"leaderboards-permuted_mnist-figures-curves.{format}"
        download.value.save_as(tmp_path / format)
    assert not any("format=" in url for url in asked), "the server prints nothing"
    svg = (tmp_path / "svg").read_text()
    assert 'width="780"' in svg
    assert "recurrent_batch_norm" in svg
    assert "rgb(255, 255, 255)" in svg, "paper is light, in a dark page, too"
    assert int.from_bytes((tmp_path / "png").read_bytes()[16:20], "big") == 3 * 780


def test_without_scripts_the_links_ask_the_server(site: Site, new_page: NewPage, tmp_path: Path) -> None:
    page = new_page(site, scripts=False)
    page.goto(BOARD)
    with page.expect_download(timeout=60_000) as download:
        page.locator("[data-figure] + .files [data-save=svg]").click()
    download.value.save_as(tmp_path / "svg")
    assert 'width="234pt"' in (tmp_path / "svg").read_text()
