"""The pages of boards, in a browser."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from service.db import Database
from tests.service.leaderboards.boards import measured
from tests.service.pages.conftest import PHONE, NewPage, Site, check_accessible, check_fits, check_looks
from tests.service.sample_runs import submitted_result

PAPER = "/boards/permuted_mnist?profile=paper"
TIED = "/boards/sequential_mnist?profile=paper"
ALL = f"{PAPER}&entries=all"
PAGES = {
    "rows of every kind": ALL,
    "few seeds": "/boards/sequential_digits?profile=small",
    "all diverged": "/boards/sequential_digits?profile=smoke",
    "published alone": "/boards/char_lm?profile=paper",
    "nothing": "/boards/draw?profile=small",
    "all boards": "/boards?profile=paper",
}


def verdict(page: Page) -> str:
    return page.locator(".answer .verdict").inner_text()


def board(site: Site, **query: str) -> Any:
    answer = httpx.get(f"{site.url}/v1/leaderboards/permuted_mnist", params={"profile": "paper", **query})
    return answer.raise_for_status().json()


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_everybody_can_use_a_board(site: Site, new_page: NewPage, path: str) -> None:
    page = new_page(site)
    page.goto(path)
    check_looks(page)
    expect(page.locator("h1")).to_have_count(1)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (PAPER, "recurrent_batch_norm is first, and nothing ties with it: 96.11% test accuracy, 1.46 points above the"),
        (f"{PAPER}&rank_by=steps_to_target", "recurrent_batch_norm is first, and nothing ties with it: "),
        (
            "/boards/sequential_mnist?profile=paper",
            "No winner: recurrent_batch_norm, layer_norm and weight_norm tie for first (98.62% test accuracy best, ",
        ),
        (PAGES["few seeds"], "Too few seeds to rank: layer_norm has "),
        (PAGES["all diverged"], "All entries diverged: 6 runs, none with a finite result."),
        (PAGES["published alone"], "Only published numbers: papers have "),
    ],
)
def test_the_verdict_says_what_the_seeds_show(site: Site, new_page: NewPage, path: str, said: str) -> None:
    page = new_page(site)
    page.goto(path)
    assert verdict(page).startswith(said), verdict(page)


def test_no_method_wins_overall_if_all_entries_diverged(site: Site, new_page: NewPage) -> None:
    page = new_page(site, figures=True)
    page.goto("/boards?profile=smoke")
    assert verdict(page).startswith("All entries of sequential_digits diverged: no entry has a finite result")
    expect(page.locator("#profiles-title")).to_have_count(0)
    page.goto("/boards?profile=paper")
    assert "diverged" not in verdict(page)
    expect(page.locator("#profiles-title")).to_be_visible()
    expect(page.locator("[data-figure][data-drawn]")).to_have_count(1)


def test_a_board_that_has_only_claims_is_listed_and_ranks_no_entry(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    submitted_result(db, values=(0.5, 0.75))
    db.close()
    page = new_page(fresh_site)
    page.goto("/boards")
    row = page.locator(".all-boards tbody tr", has_text="permuted_digits")
    expect(row.get_by_role("cell")).to_have_text(["smoke", "the profile's own", "01 claim", "0"])
    expect(page.locator("main")).to_contain_text("Nothing is measured at this profile")
    row.get_by_role("link").click()
    assert verdict(page).startswith("Only claims:")
    page.goto("/boards/permuted_digits?profile=small")
    expect(page.locator("main")).to_contain_text("There are entries at smoke (1 claim).")
    page.goto("/tasks/permuted_digits")
    expect(page.get_by_role("link", name="1 claim", exact=True)).to_be_visible()
    page.goto("/tasks")
    expect(page.locator(".chip", has_text="1 claim")).to_have_count(1)
    page.goto("/")
    expect(page.locator("main")).to_contain_text("Nothing is measured yet")
    page.goto("/methods")
    expect(page.locator("#standings-title")).to_have_count(0)


def test_numbers_on_a_board_are_those_of_the_api(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(ALL)
    measured = [entry for entry in board(site, published="true")["entries"] if entry["source"] == "measured"]
    rows = page.locator("tbody tr:has(input)")
    assert rows.count() == len(measured) == 10
    for entry in measured:
        row = page.locator("tr", has=page.locator(f"input[value='{entry['fingerprint'][:12]}']"))
        rank = row.locator(".n")
        if entry["over_budget"]:
            assert rank.count() == 0
        else:
            assert rank.inner_text() == ("last" if entry["score"] is None else str(entry["rank"]))
        value = row.locator("td.value").inner_text().split("\n")
        if entry["value"] is None:
            assert value == ["none"]
            continue
        low, high = entry["value"]["ci95"]
        assert value == [f"{entry['value']['mean']:.2%}", f"{low * 100:.2f} – {high * 100:.2f}"]
        reached = entry["steps_to_target"]
        assert row.locator("td.time small").inner_text() == f"{reached['reached']} of {entry['n_seeds']}"
        if entry["speedup"] and entry["speedup"]["steps"]:
            assert row.locator("td.speed strong").inner_text() == f"×{entry['speedup']['steps']:.2f}"


def test_every_kind_of_row_of_a_board_is_in_its_place(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(ALL)
    sections = page.locator("tr.section").all_inner_texts()
    assert [section.partition(":")[0].partition(" (")[0] for section in sections] == [
        "Over the profile's budget",
        "Claimed",
        "Published",
    ]
    bodies = page.locator("table.board tbody")
    ranked = bodies.nth(0)
    expect(ranked.locator("tr").last).to_contain_text("5 of 5 diverged")
    expect(ranked.locator("tr").last).to_contain_text("no finite result")
    expect(ranked.locator("tr", has_text="hidden_size 32")).to_contain_text("never")
    expect(bodies.nth(1)).to_contain_text("max_steps 200000")
    expect(bodies.nth(2).locator(".chip")).to_have_text("claimed")
    expect(bodies.nth(3).locator("tr", has_text="BN-LSTM")).to_contain_text("95.40%")
    brackets = ranked.locator(".tie").all()
    assert [re.sub(r".*tie ", "", mark.get_attribute("class") or "") for mark in brackets][:3] == [
        "first",
        "inner",
        "last",
    ]
    expect(page.locator(".key")).to_contain_text("rms_norm, layer_norm and sequence_batch_norm: no difference is shown")


def test_published_numbers_are_in_the_list_or_hidden(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(f"{PAPER}&published=list")
    ranked = page.locator("table.board tbody").first
    published = [entry for entry in board(site, published="true", entries="best")["entries"] if entry["citation"]]
    row = ranked.locator("tr", has_text="BN-LSTM")
    expect(row.locator(".n")).to_have_text(str(published[0]["rank"]))
    page.goto(f"{PAPER}&published=no")
    expect(page.get_by_text("BN-LSTM")).to_have_count(0)


def test_switches_keep_their_state_in_the_address(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(PAPER)
    page.get_by_label("steps to 90%").check(force=True)
    page.wait_for_url("**rank_by=steps_to_target**")
    expect(page.get_by_label("steps to 90%")).to_be_focused()
    page.get_by_label("Speed-ups against").select_option("layer_norm")
    page.wait_for_url("**baseline=layer_norm**")
    shared, said = page.url, page.locator("table.board").inner_text()
    assert "rank_by=steps_to_target" in shared
    page.reload()
    assert page.locator("table.board").inner_text() == said
    page.go_back()
    page.wait_for_url(lambda url: "baseline=none" in url)
    expect(page.get_by_label("Speed-ups against")).to_have_value("none")
    other = new_page(site)
    other.goto(shared)
    assert other.locator("table.board").inner_text() == said
    expect(other.get_by_label("steps to 90%")).to_be_checked()


def test_a_board_can_be_read_and_switched_without_scripts(site: Site, new_page: NewPage) -> None:
    page = new_page(site, scripts=False)
    page.goto(PAPER)
    assert verdict(page).startswith("recurrent_batch_norm is first")
    page.get_by_label("all", exact=True).check(force=True)
    page.get_by_role("button", name="Apply").first.click()
    assert "entries=all" in page.url
    expect(page.locator("tbody tr:has(input)")).to_have_count(10)
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("region", name="Learning curves as a table")).to_be_visible()


def test_the_keyboard_reaches_all_controls_and_starts_a_comparison(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(PAPER)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    chosen = 0
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type === 'checkbox'") and chosen < 2:
            page.keyboard.press("Space")
            chosen += 1
        if page.evaluate("document.activeElement.textContent.trim() === 'Compare' && document.activeElement.type"):
            break
    expect(page.locator(".chosen")).to_have_text("2 selected: recurrent_batch_norm, rms_norm")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?**")
    expect(page.locator("h1")).to_have_text("Two entries on Permuted MNIST")


def test_more_than_eight_entries_cannot_be_selected(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(ALL)
    expect(page.get_by_role("button", name="Compare")).to_be_disabled()
    boxes = page.locator("tbody input")
    for k in range(8):
        boxes.nth(k).check()
    expect(boxes.nth(8)).to_be_disabled()
    boxes.nth(0).uncheck()
    expect(boxes.nth(8)).to_be_enabled()


def test_curves_are_drawn_with_a_legend_when_they_come_near_a_wide_window(site: Site, new_page: NewPage) -> None:
    page = new_page(site, figures=True)
    page.goto(ALL)
    figure = page.locator("[data-figure]")
    figure.scroll_into_view_if_needed()
    expect(page.locator("[data-figure][data-drawn]")).to_be_visible()
    expect(figure.locator(".plot-area .legend")).to_have_count(1)
    expect(figure.locator(".legendtext").first).to_have_text("recurrent_batch_norm")
    expect(page.locator(".keys")).to_have_count(0)
    check_accessible(page)
    check_fits(page)


def test_a_figure_has_the_colours_that_were_chosen_while_it_was_drawn(site: Site, new_page: NewPage) -> None:
    page = new_page(site, figures=True)
    held: list[Route] = []
    page.route("**/*theme=light", lambda route: held.append(route))  # playwright refuses a built-in method
    page.goto(ALL)
    figure = page.locator("[data-figure]")
    figure.scroll_into_view_if_needed()
    page.wait_for_function("() => window.Plotly")
    page.emulate_media(color_scheme="dark")
    for route in held:
        route.continue_()
    expect(page.locator("[data-figure][data-drawn]")).to_be_visible()
    address = figure.get_attribute("data-figure")
    assert address is not None
    light, dark = (
        page.request.get(address, params={"theme": theme}).json()["layout"]["font"]["color"]
        for theme in ("light", "dark")
    )
    assert held
    assert page.evaluate('() => document.querySelector(".plot-area").layout.font.color') == dark != light


def test_an_unchanged_board_is_not_sent_again(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        first = client.get(PAPER)
        assert first.headers["cache-control"] == "no-cache"
        again = client.get(PAPER, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        dark = client.get(PAPER, headers={"Cookie": "theme=dark", "If-None-Match": first.headers["etag"]})
        assert dark.status_code == 200


def test_a_board_loads_at_most_40_kilobytes_before_its_figures(site: Site) -> None:
    """The limit is for all that is loaded before figures come near the window."""
    with httpx.Client(base_url=site.url) as client:
        text = client.get(ALL).text
        files = sorted(set(re.findall(r'(?:src|href)="(/static/[^"]+\.(?:css|js|svg))"', text)))
        sizes = {path: int(client.get(path).headers["content-length"]) for path in files}
        sizes[ALL] = int(client.get(ALL, headers={"Accept-Encoding": "gzip"}).num_bytes_downloaded)
        assert len(sizes) > 6
        assert sum(sizes.values()) <= 40_000, sizes


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/boards/no_task", 404),
        ("/boards/permuted_mnist?profile=tiny", 422),
        ("/boards/permuted_mnist?rank=1", 422),
        ("/boards/permuted_mnist?problem=0000000000000000", 422),
        ("/boards/permuted_mnist?baseline=nothing", 422),
        ("/boards/permuted_mnist?as_of=2100-01-01T00:00:00Z", 422),
    ],
)
def test_an_unknown_board_or_parameter_is_refused_with_a_page(site: Site, path: str, status: int) -> None:
    answer = httpx.get(f"{site.url}{path}", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")


def test_a_board_of_an_earlier_moment_is_shown(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto(f"{PAPER}&as_of=2020-01-01T00:00:00Z")
    expect(page.locator(".answer")).to_contain_text("Only published numbers")
    expect(page.locator(".answer")).to_contain_text("1 Jan 2020")


def test_names_of_curves_are_in_a_list_that_covers_nothing_on_a_phone(site: Site, new_page: NewPage) -> None:
    page = new_page(site, size=PHONE, theme="dark", figures=True)
    page.goto(ALL)
    page.locator("#curves-title").scroll_into_view_if_needed()
    expect(page.locator("[data-drawn]")).to_have_count(1)
    keys = page.locator(".keys")
    curves = page.evaluate(
        "document.querySelector('.plot-area').data.filter((one) => one.showlegend !== false).map((one) => one.name)"
    )
    assert len(curves) == 8
    assert keys.locator("li").all_inner_texts() == curves
    expect(page.locator(".plot-area .legend")).to_have_count(0)
    list_, plot = keys.bounding_box(), page.locator(".plot-area").bounding_box()
    assert list_ is not None
    assert plot is not None
    assert plot["y"] >= list_["y"] + list_["height"] - 1
    assert plot["height"] >= 260
    check_fits(page)
    check_accessible(page)


def test_an_empty_board_names_the_problem_that_has_entries_and_links_its_board(
    fresh_site: Site, new_page: NewPage
) -> None:
    task = {"name": "char_lm", "profile": "smoke", "corpus": "file", "file": "mine.txt", "sha256": "a" * 64}
    db = Database(fresh_site.settings.database_url)
    measured(db, {"task": task, "norm": {"method": "none"}}, 3.5, "bits_per_char")
    db.close()
    page = new_page(fresh_site)
    page.goto("/boards/char_lm?profile=smoke")
    told = page.locator("main .empty")
    expect(told).to_contain_text("char_lm has no entries at smoke. There are entries at smoke, corpus")
    expect(told).to_contain_text("(1 entry).")
    told.get_by_role("link", name="smoke, corpus").click()
    expect(page.locator("tbody tr:has(input)")).to_have_count(1)
    expect(page.locator(".problems [aria-current]")).to_contain_text("mine.txt")
    problem = parse_qs(urlsplit(page.url).query)["problem"][0]
    page.goto("/boards/char_lm?profile=small")
    expect(page.locator("main .empty")).to_contain_text("char_lm has no entries at small.")
    page.goto(f"{page.url.replace('small', 'smoke')}&problem={problem}&as_of=2020-01-01T00:00:00Z")
    expect(page.locator("main .empty")).to_contain_text("char_lm has no entries at smoke (corpus")
