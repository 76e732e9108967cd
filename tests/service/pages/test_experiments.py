"""The list of experiments."""

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import examples
from service.pages.experiments import ON_A_PAGE, RunResult, rows
from tests.service.pages.conftest import PHONE, NewPage, Site, check_accessible, check_fits, check_looks
from tests.service.sample_runs import claimed, failed, finished, submitted

HTML = {"Accept": "text/html"}


@pytest.mark.parametrize(
    ("results", "mean"),
    [
        ([], None),
        ([(0.5, "completed"), (0.7, "reached_target"), (None, "diverged")], 0.6),
        ([(0.5, "completed"), (0.7, "diverged")], 0.5),
        ([(None, "diverged")], None),
    ],
)
def test_a_row_has_the_mean_of_the_seeds_that_have_a_value(results: Sequence[RunResult], mean: float | None) -> None:
    now = examples.CREATED + timedelta(minutes=2)
    [row] = rows([examples.SUMMARY], {examples.EXPERIMENT_ID: results}, now)
    assert row.mean == (None if mean is None else pytest.approx(mean))
    assert (row.metric, row.age) == ("accuracy", 120)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_filters_narrow_the_list_and_stay_in_the_form(client: TestClient, db: Database) -> None:
    submitted(db, "layer_norm", labels={"team": "vision"})
    finished(db, claimed(db).lease, value=0.625)
    submitted(db, "rms_norm")
    everything = client.get("/experiments").text
    assert everything.count('href="/experiments/exp_') == 2
    assert "62.50%" in everything
    assert "Clear filter" not in everything
    asked = {"task": "", "profile": "smoke", "method": "", "state": "succeeded", "label": "team:vision", "sweep": ""}
    one = client.get("/experiments", params=asked).text
    assert one.count('href="/experiments/exp_') == 1
    assert '<option value="succeeded" selected>' in one
    assert 'value="team:vision"' in one
    assert "Clear filter" in one
    assert "/v1/experiments?profile=smoke&amp;state=succeeded&amp;label=team%3Avision" in one
    none = client.get("/experiments", params={"method": "none"}).text
    assert "No experiment found" in none
    assert 'href="/experiments">Clear filter</a>' in none


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("task", "permuted_digit"),
        ("method", "layernorm"),
        ("profile", "tiny"),
        ("state", "lost"),
        ("cursor", "exp_1"),
        ("colour", "red"),
    ],
)
def test_an_invalid_filter_is_refused_by_name(shared_client: TestClient, name: str, content: str) -> None:
    answer = shared_client.get("/experiments", params={name: content}, headers=HTML)
    assert answer.status_code == 422
    assert f"<code>{name}" in answer.text
    assert 'href="/experiments">See all experiments</a>' in answer.text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("label", "team", "Give key:value, such as team:vision."),
        (
            "fingerprint",
            "xyz",
            "Give the first 8 or more characters of a fingerprint; `normbench leaderboard TASK` lists them.",
        ),
    ],
)
def test_an_error_of_a_typed_filter_is_at_its_field_and_the_rest_is_kept(
    site: Site, new_page: NewPage, name: str, content: str, said: str
) -> None:
    page = new_page(site, size=PHONE)
    page.goto("/experiments?state=succeeded")
    page.get_by_label(name.capitalize()).fill(content)
    page.get_by_role("button", name="Show").click()
    wrong = page.get_by_label(name.capitalize())
    expect(wrong).to_have_value(content)
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(wrong).to_be_focused()
    expect(wrong).to_have_accessible_description(said)
    expect(page.get_by_label("State")).to_have_value("succeeded")
    expect(page.locator("table.experiments")).to_have_count(0)
    check_accessible(page)
    check_fits(page)
    wrong.fill("")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("[aria-invalid]")).to_have_count(0)
    expect(page.locator("table.experiments tbody tr").first).to_be_visible()


def test_the_wrong_one_of_several_labels_is_shown(shared_client: TestClient) -> None:
    answer = shared_client.get("/experiments", params={"label": ["team:vision", "note"]})
    assert answer.status_code == 422
    assert 'name="label" value="note" placeholder' in answer.text
    assert '<input type="hidden" name="label" value="team:vision">' in answer.text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_lists_show_departures_of_an_experiment_from_the_profile(client: TestClient, db: Database) -> None:
    submitted(db, "layer_norm", norm={"method": "layer_norm", "eps": 0.5}, training={"batch_size": 7})
    finished(db, claimed(db).lease, value=0.625)
    named = (
        'aria-label="layer_norm (norm.eps 0.5, batch_size 7) on permuted_digits, smoke">layer_<wbr>norm <code>norm.eps'
    )
    assert named in client.get("/experiments").text
    assert ">layer_norm (norm.eps 0.5, batch_size 7) on permuted_digits</a>" in client.get("/").text
    submitted(db, "layer_norm")
    assert client.get("/experiments").text.count("<code>norm.eps") == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_lists_show_the_cell_of_an_analysis(client: TestClient) -> None:
    for cell in ("gru", "lstm"):
        task = {"name": "gradient_flow", "profile": "smoke"}
        written = {"task": task, "norm": {"method": "layer_norm"}, "model": {"cell": cell}}
        assert client.post("/v1/experiments", json=written).status_code == 201
    text = client.get("/experiments?task=gradient_flow").text
    assert [f"<code>cell\u00a0{cell}</code>" in text for cell in ("gru", "lstm")] == [True, True]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_long_list_comes_in_pages_that_keep_the_filter(client: TestClient, db: Database) -> None:
    for _ in range(ON_A_PAGE + 1):
        submitted(db)
    first = client.get("/experiments?task=permuted_digits").text
    assert first.count('href="/experiments/exp_') == ON_A_PAGE
    assert "Newest" not in first
    older = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert older.startswith("/experiments?task=permuted_digits&cursor=exp_")
    last = client.get(older).text
    assert last.count('href="/experiments/exp_') == 1
    assert 'href="/experiments?task=permuted_digits" rel="first">Newest</a>' in last
    assert "Older" not in last


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_another_order_comes_in_pages_too(client: TestClient, db: Database) -> None:
    ids = [submitted(db).id for _ in range(ON_A_PAGE + 1)]
    first = client.get("/experiments?order=submitted").text
    assert 'href="/experiments?order=submitted&amp;page=2" rel="next">Next page</a>' in first
    last = client.get("/experiments?order=submitted&page=2").text
    assert [id in last for id in (ids[0], ids[-1])] == [False, True]
    assert 'href="/experiments?order=submitted" rel="first">First page</a>' in last
    assert client.get("/experiments?order=colour", headers=HTML).status_code == 422
    assert client.get("/experiments?order=submitted&page=21", headers=HTML).status_code == 422


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_experiments_of_one_name_are_told_apart_by_their_ids(client: TestClient, db: Database) -> None:
    ids = [submitted(db, method).id for method in ("rms_norm", "rms_norm", "none")]
    text = client.get("/experiments").text
    assert [f"rms_norm on permuted_digits, smoke, {id[-6:]}" in text for id in ids] == [True, True, False]
    assert 'aria-label="none on permuted_digits, smoke"' in text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_state_says_what_happened(client: TestClient, db: Database) -> None:
    for ends in (("diverged", "completed", "diverged"), ("failed", "completed"), ("failed",), ("diverged", "waits")):
        submitted(db, seeds=[*range(len(ends))])
        for end in ends:
            lease = claimed(db).lease if end != "waits" else None
            if lease and end == "failed":
                failed(db, lease)
            elif lease:
                finished(db, lease, end, value=None if end == "diverged" else 0.5)
    told = re.findall(r'<span class="happened">(.*?)</span>\s*</td>', client.get("/experiments").text, re.DOTALL)
    chips = [re.findall(r'class="chip ?(\w*)">([^<]*)<', one) for one in told]
    assert chips == [
        [("info", "running"), ("warn", "1 of 2 diverged")],
        [("bad", "failed")],
        [("bad", "1 of 2 failed")],
        [("warn", "2 of 3 diverged")],
    ]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_field_for_a_label_suggests_the_known_labels(client: TestClient, db: Database) -> None:
    for label in ("rare", "<b>", "<b>"):
        submitted(db, labels={"team": label})
    text = client.get("/experiments").text
    suggested = '<option value="team:&lt;b&gt;"></option><option value="team:rare"></option></datalist>'
    assert suggested in text


def test_an_empty_list_says_what_to_do(empty_site: Site, new_page: NewPage) -> None:
    page = new_page(empty_site)
    page.goto("/experiments")
    expect(page.get_by_role("heading", name="Nothing was submitted yet")).to_be_visible()
    expect(page.get_by_text("normbench demo")).to_be_visible()
    check_accessible(page)


def test_everybody_can_use_the_list(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/experiments")
    expect(page.get_by_text("note: <script>alert(1)</script>")).to_be_visible()
    check_looks(page)


def test_filters_work_without_scripts_and_by_their_address(site: Site, new_page: NewPage) -> None:
    page = new_page(site, scripts=False)
    page.goto("/experiments")
    page.get_by_label("State").select_option("failed")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_label("State")).to_have_value("failed")
    page.reload()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="team: vision").click()
    assert page.url.endswith("/experiments?label=team%3Avision")
    page.go_back()
    expect(page.get_by_label("State")).to_have_value("failed")
    page.get_by_role("link", name="Clear filter").click()
    assert page.url.endswith("/experiments")


def test_seeds_that_wait_leave_their_bar_empty(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/experiments?state=queued")
    fill = "(bar) => getComputedStyle(bar).fill"
    assert {bar.evaluate(fill) for bar in page.locator(".of-queued").all()} == {"none"}


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
