"""The view of a figure in a browser: one line that reads all curves, zoom, logarithmic axes, an axis from zero."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service.pages.conftest import PHONE, NewPage, Site, check_accessible, check_fits

BOARD = "/boards/permuted_digits?profile=small&entries=all"
LAYOUT = "(part) => document.querySelector('.plot-area').layout[part]"


def opened(page: Page, path: str) -> Page:
    page.goto(path)
    page.locator(".figure-room").first.scroll_into_view_if_needed()
    expect(page.locator("[data-figure][data-drawn]").first).to_be_visible()
    return page


def axis(page: Page, name: str) -> Any:
    return page.evaluate(LAYOUT, f"{name}axis")


@pytest.fixture
def board(month_site: Site, new_page: NewPage) -> Page:
    return opened(new_page(month_site, figures=True), BOARD)


def test_one_line_reads_all_curves_at_one_place(board: Page) -> None:
    area = board.locator(".nsewdrag").bounding_box()
    assert area is not None
    for share in (0.6, 0.66, 0.7):  # between the points
        board.mouse.move(area["x"] + share * area["width"], area["y"] + 20)
    read = board.locator(".hoverlayer .legendtext")
    expect(read).to_have_count(8)
    names = board.evaluate("document.querySelector('.plot-area').data.map((one) => one.name).filter(Boolean)")
    for text, name in zip(read.all_text_contents(), names, strict=True):
        assert text.startswith(f"{name} : ")
        assert text.endswith("%")
    expect(board.locator(".spikeline")).not_to_have_count(0)


def test_the_board_says_how_many_curves_are_not_drawn(board: Page) -> None:
    told = board.locator("section", has=board.locator("#curves-title"))
    expect(told).to_contain_text(
        "The best 8 of 63 entries are drawn; select others in the table above, and compare them."
    )


def test_axes_begin_where_the_data_are_and_at_zero_if_asked(board: Page) -> None:
    assert axis(board, "y")["range"][0] > 0.3
    board.get_by_role("button", name="from zero").click()
    expect(board.get_by_role("button", name="from zero")).to_have_attribute("aria-pressed", "true")
    assert axis(board, "y")["range"][0] == 0
    assert board.url.endswith("#curves.from=0")
    board.get_by_role("button", name="from zero").press("Enter")
    assert axis(board, "y")["range"][0] > 0.3
    assert "#" not in board.url


def test_logarithmic_axes_show_the_same_points_and_the_target(board: Page) -> None:
    low, high = axis(board, "y")["range"]
    for name in ("log x", "log y"):
        board.get_by_role("button", name=name).click()
    assert board.url.endswith("#curves.log=xy")
    shown = axis(board, "y")
    assert shown["type"] == axis(board, "x")["type"] == "log"
    assert [10**end for end in shown["range"]] == pytest.approx([low, high])
    [note] = board.evaluate(LAYOUT, "annotations")
    assert 10 ** note["y"] == pytest.approx(0.5)
    expect(board.get_by_role("button", name="from zero")).to_have_count(0)
    check_accessible(board)


def test_a_zoom_stays_in_the_address_until_it_is_reset(board: Page) -> None:
    area = board.locator(".nsewdrag").bounding_box()
    assert area is not None
    whole = axis(board, "y")["range"]
    board.mouse.move(area["x"] + 300, area["y"] + 20)
    board.mouse.down()
    board.mouse.move(area["x"] + 600, area["y"] + 120, steps=4)
    board.mouse.up()
    reset = board.get_by_role("button", name="Reset zoom")
    expect(reset).to_be_visible()
    zoomed = axis(board, "x")["range"]
    assert "#curves.x=" in board.url
    board.reload()
    opened(board, board.url)
    assert axis(board, "x")["range"] == pytest.approx(zoomed, rel=1e-3)
    assert axis(board, "y")["range"] != pytest.approx(whole)
    reset.click()
    assert "#" not in board.url
    assert axis(board, "y")["range"] == pytest.approx(whole)
    expect(board.get_by_role("button", name="Zoom to the end")).to_be_focused()


def test_the_keyboard_zooms_to_the_end_of_the_curves(board: Page) -> None:
    low, high = axis(board, "x")["range"]
    board.get_by_role("button", name="Zoom to the end").focus()
    board.keyboard.press("Enter")
    board.keyboard.press("Enter")  # the focus stays where it was
    assert axis(board, "x")["range"] == pytest.approx([low + 0.75 * (high - low), high], rel=1e-3)


@pytest.mark.parametrize(
    "fragment", ["curves.x=9,1", "curves.x=a,b", "curves.y=1", "curves.log=z", "curves.x=1e999,2", "%"]
)
def test_a_view_that_makes_no_sense_is_left_out(month_site: Site, new_page: NewPage, fragment: str) -> None:
    page = opened(new_page(month_site, figures=True), f"{BOARD}#{fragment}")
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)
    assert axis(page, "x")["type"] == "linear"


def test_the_controls_of_a_figure_fit_a_phone(month_site: Site, new_page: NewPage) -> None:
    page = opened(new_page(month_site, figures=True, size=PHONE, theme="dark"), f"{BOARD}#curves.x=100,200")
    for button in page.locator(".view button").all():
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44
    assert page.evaluate(LAYOUT, "dragmode") is False
    check_accessible(page)
    check_fits(page)


def test_curves_of_an_experiment_have_the_same_controls(month_site: Site, new_page: NewPage) -> None:
    page = opened(new_page(month_site, figures=True), f"/experiments/{month_site.found['many seeds']}")
    low, high = axis(page, "x")["range"]
    page.get_by_role("button", name="Zoom to the end").click()
    assert axis(page, "x")["range"] == pytest.approx([(low + high) / 2, high], rel=1e-3)
    assert "#curves.x=" in page.url
    page.get_by_role("button", name="Reset zoom").click()
    page.get_by_role("button", name="from zero").click()
    assert axis(page, "y")["range"][0] == 0
    assert page.url.endswith("#curves.from=0")
    check_accessible(page)
