"""A published folder shows boards, comparisons and report cards from the disk, without a service."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from normbench import Client
from normbench.publishing.elements import Element, parse
from service.db import Database
from tests.normbench.cli.commands import from_json, normbench
from tests.service.comparisons.test_routes import trained
from tests.service.pages.conftest import WIDE, BrowserLog, Site, check_looks, site_in

VALUES: dict[str, tuple[list[float | None], list[float | None]]] = {
    "none": ([0.70, 0.72, 0.74], [40, 42, 44]),
    "layer_norm": ([0.80, 0.82, 0.81], [20, 21, 22]),
    "rms_norm": ([0.80, 0.82, None], [20, 21, None]),
}


@pytest.fixture(scope="module")
def measured(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with one board of three methods."""
    for site in site_in(tmp_path_factory.mktemp("measured"), sqlite_template):
        db = Database(site.settings.database_url)
        for method, (values, steps) in VALUES.items():
            site.found[method] = trained(db, method, values, steps)
        db.close()
        yield site


@pytest.fixture(scope="module")
def published(measured: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that the command writes."""
    folder = tmp_path_factory.mktemp("published") / "site"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NORMBENCH_URL", measured.url)
        environment.setenv("NORMBENCH_API_KEY", "")
        said = normbench("publish", folder)
        assert "(1 board, 1 comparison, 3 report cards)" in said
        assert said.endswith(f"Open {folder / 'index.html'}\n")
        yield folder


def pages(folder: Path) -> dict[Path, Element]:
    return {path: parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def test_each_link_leads_to_a_file_of_the_folder(measured: Site, published: Path) -> None:
    found = pages(published)
    assert {path.relative_to(published).as_posix() for path in found} == {
        *("index.html", "boards/permuted_digits-smoke.html", "comparisons/permuted_digits-smoke.html"),
        *("methods/none.html", "methods/layer_norm.html", "methods/rms_norm.html"),
    }
    reached = set[Path]()
    for path, page in found.items():
        for element in page.walk():
            for address in filter(None, (element.get("href"), element.get("src"))):
                parts = urlsplit(address)
                if parts.scheme:
                    assert element.tag == "a"
                    assert parts.netloc not in measured.url
                    continue
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                assert target.is_file(), f"{path}: {address}"
                if parts.fragment:
                    assert any(one.get("id") == parts.fragment for one in found[target].walk()), address
                reached.add(target)
    assert reached >= found.keys() - {published / "index.html"}


def test_no_page_has_scripts_forms_or_the_address_of_the_service(measured: Site, published: Path) -> None:
    for path, page in pages(published).items():
        tags = {element.tag for element in page.walk()}
        assert not tags & {"script", "form", "input", "select"}, path
        text = path.read_text(encoding="utf-8")
        assert urlsplit(measured.url).netloc not in text
        assert "from normbench 0.1.0" in text


def test_numbers_lie_beside_their_page(measured: Site, published: Path) -> None:
    board = json.loads((published / "boards/permuted_digits-smoke.json").read_text())
    now = Client(measured.url).leaderboard("permuted_digits", profile="smoke")
    assert board["entries"] == now["entries"]
    with (published / "boards/permuted_digits-smoke.csv").open(newline="") as file:
        assert {row["fingerprint"] for row in csv.DictReader(file)} == set(measured.found.values())
    comparison = json.loads((published / "comparisons/permuted_digits-smoke.json").read_text())
    assert {entry["fingerprint"] for entry in comparison["entries"]} == set(measured.found.values())
    assert "toprule" in (published / "boards/permuted_digits-smoke.tex").read_text()


def test_an_earlier_publication_is_replaced_on_demand(published: Path) -> None:
    assert "--force" in normbench("publish", published, status=2)
    (published / "mine.txt").write_text("mine")
    summary = from_json("publish", published, "--force")
    assert (len(summary["pages"]), summary["removed"], summary["left_out"]) == (6, [], {})
    assert (published / "mine.txt").read_text() == "mine"


def test_pages_show_their_content_from_the_disk_in_silence(chromium: Browser, published: Path) -> None:
    context = chromium.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, reduced_motion="reduce")
    log = BrowserLog()
    page = context.new_page()
    log.watch(page, "")
    page.goto((published / "index.html").as_uri())
    expect(page.locator(".answer .verdict")).to_be_visible()
    page.get_by_role("link", name="permuted_digits", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Permuted digits")
    expect(page.locator("tbody .who .method").first).to_contain_text("layer_")
    page.get_by_role("link", name="Compare").click()
    page.locator("#comparisons").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Permuted digits")
    context.close()
    assert log.complaints == []


@pytest.mark.parametrize("name", ["index", "boards/permuted_digits-smoke", "comparisons/permuted_digits-smoke"])
def test_published_pages_are_accessible(chromium: Browser, published: Path, name: str) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto((published / f"{name}.html").as_uri())
    check_looks(page)
    context.close()
