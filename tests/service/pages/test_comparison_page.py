"""The page that compares entries, in a browser."""

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.service.pages.conftest import NewPage, Site, check_accessible, check_fits, each_look

FOUR = ("recurrent_batch_norm", "rms_norm", "layer_norm", "none")


def address(site: Site, *methods: str, **query: str) -> str:
    chosen = "&".join(f"fingerprint={site.found[method][:12]}" for method in methods)
    return f"/compare?{chosen}" + "".join(f"&{name}={value}" for name, value in query.items())


def comparison(site: Site, *methods: str, **query: str) -> Any:
    answer = httpx.get(site.url + address(site, *methods, **query).replace("/compare", "/v1/comparisons"))
    return answer.raise_for_status().json()


def differences(page: Page) -> list[str]:
    return page.locator(".pairs").first.locator("td.value strong").all_inner_texts()


@each_look
def test_the_comparison_page_is_accessible(site: Site, new_page: NewPage, size: tuple[int, int], theme: str) -> None:
    page = new_page(site, theme=theme, size=size, figures=True)
    page.goto(address(site, *FOUR))
    figures = page.locator("[data-figure]")
    for k in range(figures.count()):
        figures.nth(k).scroll_into_view_if_needed()
    expect(page.locator("[data-figure][data-drawn]")).to_have_count(2, timeout=90_000)
    check_accessible(page)
    check_fits(page)


def test_numbers_of_a_comparison_are_those_of_the_api(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(address(site, *FOUR))
    others = [entry for entry in comparison(site, *FOUR)["entries"] if entry["method"] != "none"]
    assert differences(page) == [f"{entry['difference']['mean'] * 100:+.2f} points" for entry in others]
    first, second = page.locator(".pairs").all()
    tests = [text.replace("\u00a0", " ").split("\n") for text in first.locator("td.test").all_inner_texts()]
    assert tests[0][0] == "better"
    p_value = others[1]["difference"]["p_holm"]
    assert tests[1][1] == (f"p = {p_value:.3f}" if p_value >= 0.001 else "p < 0.001") + ", 5 shared seeds"
    totals = second.locator("td.value strong").all_inner_texts()
    assert totals == [f"×{entry['speedup']['total']['ratio']:.2f}" for entry in others]
    seeds = page.locator(".every-seed tbody tr").first.locator("td").all_inner_texts()
    assert len(seeds) == 5
    assert [float(seed.removesuffix("%")) for seed in seeds] == pytest.approx(
        [100 * value for value in values(site, "recurrent_batch_norm")], abs=0.005
    )


def values(site: Site, method: str) -> list[float]:
    runs = next(entry["runs"] for entry in comparison(site, method, "none")["entries"] if entry["method"] == method)
    found = [httpx.get(f"{site.url}/v1/runs/{run['run_id']}").json()["result"]["value"] for run in runs]
    assert len(found) == 5
    return found


def test_the_verdict_says_who_differs_and_who_is_best(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(address(site, *FOUR))
    said = page.locator(".verdict").inner_text()
    assert said.startswith(
        "All three beat the method none; recurrent_batch_norm is best, by 1.46 points over rms_norm (95%"
    ), said
    expect(page.locator(".answer")).to_contain_text("5 shared seeds: same initial weights, same batches")
    expect(page.locator(".answer")).to_contain_text("each of its steps takes 1.7 times as long")
    page.goto(address(site, "rms_norm", "layer_norm"))
    assert page.locator(".verdict").inner_text().startswith("No difference between layer_norm and rms_norm is shown;")


def test_another_baseline_reverses_the_signs_of_differences(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/boards/permuted_mnist?profile=paper")
    for method in ("recurrent_batch_norm", "none"):
        page.get_by_role("checkbox", name=re.compile(f"^Compare {method}")).check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?**")
    before = differences(page)
    page.get_by_label("Against").select_option(label="recurrent_batch_norm")
    page.wait_for_url("**baseline=**")
    assert before == ["+4.74 points"]
    assert differences(page) == ["−4.74 points"]
    expect(page.locator(".pairs").first.locator(".chip")).to_have_text("worse")


def test_entries_are_added_and_removed(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(address(site, "layer_norm", "none"))
    page.get_by_label("Add an entry").select_option(label="rms_norm")
    expect(page.locator("h1")).to_have_text("Three entries on Permuted MNIST")
    page.get_by_role("link", name="Remove layer_norm").click()
    expect(page.locator("h1")).to_have_text("Two entries on Permuted MNIST")
    expect(page.locator(".entries")).not_to_contain_text("layer_norm")


def test_only_fields_that_differ_are_shown(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(address(site, "layer_norm", "rms_norm"))
    fields = page.locator(".fields tbody th").all_inner_texts()
    assert "norm.method" in fields
    assert not any(field.startswith(("model.", "training.", "task.")) for field in fields)


def test_the_comparison_page_works_without_scripts(site: Site, new_page: NewPage) -> None:
    page = new_page(site, scripts=False)
    page.goto(address(site, "recurrent_batch_norm", "none"))
    assert differences(page) == ["+4.74 points"]
    page.get_by_label("Against").select_option(label="recurrent_batch_norm")
    page.get_by_role("button", name="Apply").first.click()
    assert differences(page) == ["−4.74 points"]


def test_fewer_than_two_entries_lead_to_the_boards(site: Site, empty_site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/compare")
    check_accessible(page)
    page.get_by_role("link", name="permuted_mnist, paper").click()
    expect(page.locator("table.board")).to_be_visible()
    page.goto(address(site, "none"))
    expect(page.locator(".empty")).to_contain_text("One entry is chosen")
    empty = new_page(empty_site)
    empty.goto("/compare")
    expect(empty.locator(".empty")).to_contain_text("Nothing is measured yet")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("fingerprint=00000000&fingerprint=11111111", 404),
        ("fingerprint=none&fingerprint=11111111", 422),
        ("&".join(f"fingerprint={k:08x}" for k in range(9)), 422),
        ("by=epochs", 422),
    ],
)
def test_an_invalid_comparison_is_refused_with_a_page(site: Site, query: str, status: int) -> None:
    answer = httpx.get(f"{site.url}/compare?{query}", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
