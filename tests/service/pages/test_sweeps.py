"""The pages of sweeps, in a browser: progress, the best cell, a heat table or a list, what fewer cells are worth."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from service.db import Database
from service.pages.sweeps import describe_flip
from service.sweeps.schemas import BudgetFlip
from tests.service.pages import sample_pages
from tests.service.pages.conftest import NewPage, Site, check_looks, site_in


@dataclass
class Swept:
    """A service with sweeps, by their ids: over two fields, over methods, over three fields, and one that waits."""

    site: Site
    two_axes: str
    methods: str
    three_fields: str
    waiting: str


@pytest.fixture(scope="module")
def swept(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    for site in site_in(tmp_path_factory.mktemp("swept"), sqlite_template):
        db = Database(site.settings.database_url)
        two_axes, methods = sample_pages.sweep_of_two_axes(db), sample_pages.sweep_of_methods(db)
        three_fields = sample_pages.sweep_of_three_fields(db)
        yield Swept(site, two_axes, methods, three_fields, sample_pages.sweep_under_way(db))
        db.close()


def test_pages_of_sweeps_are_accessible(swept: Swept, new_page: NewPage) -> None:
    page = new_page(swept.site)
    sweeps = (swept.two_axes, swept.methods, swept.three_fields, swept.waiting)
    for path in ("/sweeps", *(f"/sweeps/{sweep}" for sweep in sweeps), f"/sweeps/{swept.three_fields}?state=failed"):
        page.goto(path)
        check_looks(page)


def test_two_fields_make_a_table_whose_cells_lead_to_experiments(swept: Swept, new_page: NewPage) -> None:
    page = new_page(swept.site)
    page.goto(f"/sweeps/{swept.two_axes}")
    expect(page.locator(".verdict")).to_have_text(
        "gain_init 0.1, lr 0.001 is first, and nothing ties with it: 86.98% test accuracy, 95% interval 85.68 – 88.28."
    )
    rows = page.locator(".heat tbody tr")
    assert [[text.split()[0] for text in row.locator("td").all_inner_texts()] for row in rows.all()] == [
        ["65.38%", "62.38%", "51.88%"],
        ["86.98%", "83.98%", "73.48%"],
        ["84.58%", "81.58%", "71.08%"],
        ["58.18%", "diverged", "diverged"],
    ]
    assert rows.nth(1).locator("td").first.get_attribute("class") == "t4 best"
    assert rows.nth(0).locator("td").last.get_attribute("class") == "t0"
    assert rows.nth(3).locator("td").last.get_attribute("class") == "lost"
    sweep = httpx.get(f"{swept.site.url}/v1/sweeps/{swept.two_axes}").json()
    expect(page.locator(".heat .best a")).to_have_attribute("href", f"/experiments/{sweep['best']['experiment_id']}")
    assert sweep["best"]["entry"]["value"]["mean"] == pytest.approx(0.8698, abs=1e-4)
    expect(page.locator(".facts")).to_contain_text("36 of 36 runs done")
    expect(page.locator(".facts")).to_contain_text("2 cells diverged in every seed")


def test_the_page_says_and_draws_where_another_method_becomes_better(swept: Swept, new_page: NewPage) -> None:
    page = new_page(swept.site, figures=True)
    page.goto(f"/sweeps/{swept.methods}")
    expect(page.locator("#budget")).to_contain_text("From 4 cells on, none is better than layer_norm")
    row = page.locator("#budget tbody tr").filter(has_text="layer_norm")
    assert [text.split()[0] for text in row.locator("td").all_inner_texts()] == [
        "72.50%",
        "73.67%",
        "74.25%",
        "74.83%",
        "75.00%",
    ]
    drawn = page.locator("#budget [data-figure]")
    drawn.scroll_into_view_if_needed()
    expect(drawn.locator(".plot-area .main-svg").first).to_be_visible(timeout=90_000)
    page.get_by_role("button", name="log x").click()
    assert page.url.endswith("#budget.log=x")
    figure = httpx.get(f"{swept.site.url}/v1/sweeps/{swept.methods}/figures/budget").json()
    means = {line["name"]: line["y"] for line in figure["data"] if line.get("name")}
    assert means["none"] == pytest.approx([0.6, 0.6933, 0.74, 0.768, 0.7867, 0.8], abs=1e-4)
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [4]


def test_the_fields_of_the_table_are_chosen_and_the_address_keeps_them(swept: Swept, new_page: NewPage) -> None:
    page = new_page(swept.site)
    page.goto(f"/sweeps/{swept.three_fields}")
    expect(page.locator("#heat")).to_contain_text("the table shows the one with the best validation value")
    page.get_by_label("Rows").select_option("batch_size")
    expect(page).to_have_url(re.compile(r"rows=training.batch_size"))
    page.get_by_label("Of several cells").select_option("their mean")
    expect(page.locator(".heat thead th").first).to_have_text("gain_init")
    expect(page.get_by_label("Columns")).to_have_value("norm.gain_init")
    rows = page.locator(".heat tbody tr")
    means = [[text.split()[0] for text in row.locator("td").all_inner_texts()] for row in rows.all()]
    assert means == [["71.10%", "66.10%", "56.10%"], ["70.10%", "65.10%", "55.10%"], ["69.10%", "64.10%", "54.10%"]]
    assert "where=&" not in page.url
    page.reload()
    expect(page.get_by_label("Of several cells")).to_have_value("mean")
    page.locator(".heat tbody td a").first.click()
    expect(page.locator("#cells tbody tr")).to_have_count(4)
    expect(page.get_by_label("batch_size", exact=True)).to_have_value("training.batch_size=8")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_cells_are_sorted_filtered_and_paged(swept: Swept, new_page: NewPage, scripts: bool) -> None:
    page = new_page(swept.site, scripts=scripts)
    page.goto(f"/sweeps/{swept.three_fields}")
    cells = page.locator("#cells tbody tr")
    expect(cells).to_have_count(25)
    page.get_by_role("link", name="Next").click()
    expect(cells).to_have_count(11)
    page.get_by_role("link", name="Test, 95%").click()
    expect(cells.first).to_contain_text("batch_size 8, gain_init 0.1, lr 0.001")
    expect(page.get_by_role("columnheader", name="Test, 95%")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("link", name="Test, 95%").click()
    expect(cells.first).to_contain_text("batch_size 24, gain_init 0.9")
    page.get_by_label("gain_init", exact=True).select_option("0.3")
    if not scripts:
        page.locator("#cells").get_by_role("button", name="Apply").click()
    expect(cells).to_have_count(12)
    expect(cells.first).to_contain_text("batch_size 24, gain_init 0.3")
    page.get_by_role("link", name="Show all").click()
    expect(cells).to_have_count(25)


def test_importance_comes_by_itself_and_has_a_page_without_scripts(swept: Swept, new_page: NewPage) -> None:
    page = new_page(swept.site, figures=True)
    page.goto(f"/sweeps/{swept.three_fields}")
    page.locator("#importance").scroll_into_view_if_needed()
    rows = page.locator("#importance tbody tr")
    expect(rows.first).to_contain_text("training.optimizer.lr")
    told = httpx.get(f"{swept.site.url}/v1/sweeps/{swept.three_fields}/importance", timeout=90).json()
    expect(rows.first).to_contain_text(f"{told['fields'][0]['importance']:.2f}")
    expect(page.locator("#importance")).to_contain_text(f"explains {told['explained']:.0%} of the variance")
    drawn = page.locator("#parallel [data-figure]")
    drawn.scroll_into_view_if_needed()
    expect(drawn.locator(".plot-area .main-svg").first).to_be_visible()
    check_looks(page)
    plain = new_page(swept.site, scripts=False)
    plain.goto(f"/sweeps/{swept.three_fields}")
    plain.get_by_role("link", name="Which fields matter").click()
    expect(plain.locator("#importance tbody tr")).to_have_count(3)


def test_parallel_coordinates_have_a_line_for_each_cell(swept: Swept) -> None:
    figure = httpx.get(f"{swept.site.url}/v1/sweeps/{swept.two_axes}/figures/parallel").json()
    lines = {trace["name"]: trace["y"].count(None) for trace in figure["data"]}
    assert lines["best by validation"] == 1
    assert lines["diverged (2)"] == 4, "a line that ends at the last axis, and the gap after it"
    assert figure["layout"]["xaxis"]["ticktext"] == ["gain init", "lr", "test accuracy"]


def test_an_unknown_figure_is_refused_with_the_known_name(swept: Swept) -> None:
    answer = httpx.get(f"{swept.site.url}/v1/sweeps/{swept.methods}/figures/heat")
    assert (answer.status_code, "choose from budget, parallel" in answer.json()["detail"]) == (404, True)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_sweep_is_cancelled_and_retried(fresh_site: Site, new_page: NewPage, scripts: bool) -> None:
    db = Database(fresh_site.settings.database_url)
    sweep_id = sample_pages.sweep_under_way(db)
    db.close()
    page = new_page(fresh_site, scripts=scripts)
    page.goto("/sweeps")
    page.get_by_role("link", name="permuted_digits, smoke").click()
    expect(page.locator(".verdict")).to_have_text("No cell has a result yet.")
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    expect(page).to_have_url(f"{fresh_site.url}/sweeps/{sweep_id}")
    expect(page.locator("h1")).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    page.get_by_role("button", name="Retry").click()
    expect(page.locator("h1")).to_contain_text("queued")
    assert httpx.get(f"{fresh_site.url}/v1/sweeps/{sweep_id}").json()["state"] == "queued"


def test_other_sites_cannot_cancel(swept: Swept) -> None:
    address = f"{swept.site.url}/sweeps/{swept.waiting}/cancel"
    assert httpx.post(address, headers={"Origin": "https://evil.example"}).status_code == 403
    assert httpx.get(f"{swept.site.url}/v1/sweeps/{swept.waiting}").json()["state"] == "queued"


def test_the_rule_of_selection_is_shown_once_a_cell_was_selected(swept: Swept) -> None:
    done, waits = (
        httpx.get(f"{swept.site.url}/sweeps/{sweep}", headers={"Accept": "text/html"}).text
        for sweep in (swept.two_axes, swept.waiting)
    )
    assert "The best is chosen by validation" in done
    assert "chosen by validation among 12 cells" in done
    assert "chosen by validation" not in waits


def test_an_empty_list_of_sweeps_shows_an_example_that_works(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/sweeps")
    expect(page.locator(".empty h2")).to_have_text("No sweep yet")
    call = page.locator("pre", has_text="/v1/sweeps' -d").inner_text()
    body = re.search(r"-d '(.*)'$", call)
    assert body is not None
    assert httpx.post(f"{fresh_site.url}/v1/sweeps", content=body[1]).status_code == 201


def test_an_unknown_sweep_is_not_found(swept: Swept) -> None:
    html = {"Accept": "text/html"}
    assert httpx.get(f"{swept.site.url}/sweeps/swp_nothing", headers=html).status_code == 404
    assert httpx.post(f"{swept.site.url}/sweeps/swp_nothing/retry", headers=html).status_code == 404
    assert httpx.get(f"{swept.site.url}/sweeps?cursor=x", headers=html).status_code == 422


def test_sweeps_come_in_pages(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    ids = [sample_pages.sweep_under_way(db) for _ in range(51)]
    db.close()
    page = new_page(fresh_site)
    page.goto("/sweeps")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("link", name="Older sweeps").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text(ids[0])


@pytest.mark.parametrize(
    ("k", "is_uncertain", "few", "doubt"),
    [
        (4, False, False, ""),
        (4, True, False, " (uncertain: there are few ways to choose 4 cells)"),
        (1, False, True, " (uncertain: some cells have fewer than 3 seeds)"),
        (4, True, True, " (uncertain: there are few ways to choose 4 cells, and some cells have fewer than 3 seeds)"),
    ],
)
def test_the_doubt_about_a_flip_is_told(k: int, is_uncertain: bool, few: bool, doubt: str) -> None:
    told = describe_flip(BudgetFlip(k, "layer_norm", "none", is_uncertain), few=few)
    assert told == f"From {k} cell{'s' if k > 1 else ''} on, layer_norm is better than none{doubt}."
