"""Orders of the list of experiments."""

from collections.abc import Sequence
from typing import get_args

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import queries
from service.pages import orders
from service.pages.orders import FIRST, TITLES, Order, read_sorted, turn_round
from tests.service.pages.conftest import NewPage, Site, check_looks
from tests.service.sample_runs import claimed, failed, finished, submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def names(db: Database) -> dict[str, str]:
    """Short names of four experiments, by id. They are stored in the order of these names."""
    stored = {}
    for name, method, seeds, value in (("a", "rms_norm", (0,), 0.5), ("b", "layer_norm", (0, 1), 0.7)):
        stored[submitted(db, method, seeds).id] = name
        for _ in seeds:
            finished(db, claimed(db).lease, value=value)
    stored[submitted(db, "none").id] = "c"
    failed(db, claimed(db).lease)
    stored[submitted(db, "weight_norm", (0, 1, 2)).id] = "d"
    return stored


@SQLITE
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("submitted", "abcd"),
        ("-submitted", "dcba"),
        ("method", "bcad"),
        ("-method", "dacb"),
        ("task", "dcba"),
        ("state", "dcba"),
        ("-state", "bacd"),
        ("seeds", "cabd"),
        ("-seeds", "dbca"),
        ("value", "badc"),
        ("-value", "abdc"),
    ],
)
def test_experiments_are_sorted_by_every_column(
    db: Database, names: dict[str, str], order: Order, expected: str
) -> None:
    with db.snapshot() as session:
        found = read_sorted(session, queries.matching(), order, page=1, size=50)
    assert "".join(names[one.id] for one in found.shown) == expected
    assert (found.sorted, found.all) == (4, True)


@SQLITE
def test_a_smaller_loss_is_the_better_value(db: Database) -> None:
    ids = []
    for value in (2.0, 1.5, 3.0):
        ids.append(submitted(db, "none", task={"name": "char_lm", "profile": "small"}).id)
        finished(db, claimed(db).lease, metric="bits_per_char", value=value)
    with db.snapshot() as session:
        found = read_sorted(session, queries.matching(), "value", page=1, size=50)
    assert [one.id for one in found.shown] == [ids[1], ids[0], ids[2]]


@SQLITE
def test_pages_of_an_order_follow_each_other_and_the_newest_are_sorted(
    db: Database, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(number: int) -> tuple[Sequence[str], int, bool]:
        with db.snapshot() as session:
            found = read_sorted(session, queries.matching(), "method", page=number, size=2)
        return [names[one.id] for one in found.shown], found.sorted, found.all

    assert [read(1), read(2)] == [(["b", "c"], 4, True), (["a", "d"], 4, True)]
    monkeypatch.setattr(orders, "MOST", 3)  # as if there were a thousand
    assert [read(1), read(2)] == [(["b", "c"], 3, False), (["d"], 3, False)]


def test_every_order_has_a_title_and_its_reverse() -> None:
    assert set(TITLES) == set(get_args(Order))
    assert {turn_round(order) for order in TITLES} == set(TITLES)
    assert set(FIRST.values()) < set(TITLES)


@SQLITE
def test_text_is_found_in_labels_methods_tasks_and_ids(client: TestClient, db: Database) -> None:
    first = submitted(db, "layer_norm", labels={"who": "Mira 100%"}).id
    second = submitted(db, "rms_norm", labels={"who": "jonas"}).id

    def found(text: str) -> list[str]:
        items = client.get("/v1/experiments", params={"q": text}).json()["items"]
        return [item["id"] for item in items]

    assert found("mira") == found("LAYER") == found(first) == found("0%") == [first]
    assert found("permuted") == found("who") == found("") == [second, first]
    assert found("n_rm") == found("%_") == []
    assert client.get("/v1/experiments", params={"q": "x" * 201}).status_code == 422


def test_a_click_on_the_head_of_a_column_sorts_and_keeps_the_filter(month_site: Site, new_page: NewPage) -> None:
    page = new_page(month_site)
    page.goto("/experiments?q=mira&task=permuted_digits&state=succeeded")
    page.get_by_role("link", name="Test mean").click()
    assert page.url.endswith("/experiments?task=permuted_digits&state=succeeded&q=mira&order=value")
    expect(page.get_by_role("columnheader", name="Test mean")).to_have_attribute("aria-sort", "ascending")
    cells = page.locator("td[data-label='Test mean'] > span").all_inner_texts()
    values = [float(cell.partition("%")[0]) for cell in cells]
    assert len(values) > 5
    assert values == sorted(values, reverse=True)
    page.get_by_role("link", name="Test mean").click()
    page.wait_for_url("**order=-value")
    expect(page.get_by_label("Order")).to_have_value("-value")
    cells = page.locator("td[data-label='Test mean'] > span").all_inner_texts()
    assert [float(cell.partition("%")[0]) for cell in cells] == values[::-1]
    page.go_back()
    expect(page.get_by_label("Order")).to_have_value("value")


def test_selected_experiments_are_compared(month_site: Site, new_page: NewPage) -> None:
    page = new_page(month_site)
    page.goto("/experiments?task=permuted_digits&state=succeeded&method=rms_norm")
    compare = page.get_by_role("button", name="Compare")
    expect(compare).to_be_disabled()
    boxes = page.locator("input[type=checkbox]")
    names = [boxes.nth(k).get_attribute("data-name") or "" for k in range(2)]
    for k in range(2):
        boxes.nth(k).check()
    expect(page.locator(".chosen")).to_have_text(f"2 selected: {names[0]}, {names[1]}")
    compare.click()
    page.wait_for_url("**/compare?fingerprint=*")
    for name in names:
        expect(page.locator("main")).to_contain_text(name)


def test_everybody_can_use_a_long_list(month_site: Site, new_page: NewPage) -> None:
    page = new_page(month_site)
    page.goto("/experiments?order=state")
    expect(page.locator("table.experiments tbody tr")).to_have_count(50)
    expect(page.locator("table.experiments")).to_contain_text("1 of 3 diverged")
    check_looks(page)
