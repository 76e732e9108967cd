"""The pages of methods, in a browser: what each does, where it stands, and claims beside findings."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from normcore.spec.methods import METHODS
from service.catalogue import descriptions
from service.db import Database
from service.pages.methods import claim, list_tied, split_description
from service.report_cards.examples import REPORT_CARD
from tests.service.pages import sample_pages
from tests.service.pages.conftest import NewPage, Site, check_looks, site_in

CARD = "/v1/methods/layer_norm/report-card"


@pytest.fixture(scope="module")
def measured(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service on which some of layer_norm's report card is measured; tests leave it as it is."""
    for site in site_in(tmp_path_factory.mktemp("measured"), sqlite_template):
        measure(site)
        yield site


@pytest.fixture
def own_measured(fresh_site: Site) -> Site:
    """A service like ``measured`` of the test's own."""
    measure(fresh_site)
    return fresh_site


def measure(site: Site) -> None:
    db = Database(site.settings.database_url)
    sample_pages.card(db)
    db.close()


def test_pages_of_methods_are_accessible(measured: Site, new_page: NewPage) -> None:
    page = new_page(measured)
    for path in ("/methods", "/methods/layer_norm", "/methods/none"):
        page.goto(path)
        check_looks(page)


def test_claims_stand_beside_what_was_found(measured: Site, new_page: NewPage) -> None:
    page = new_page(measured)
    page.goto("/methods/layer_norm")
    rows = page.locator("#report table").first.locator("tbody tr")
    expect(rows).to_have_count(6)
    row = rows.filter(has_text="single case rescaling")
    assert [re.split(r"\s*\n\s*", cell)[0] for cell in row.locator("td").all_inner_texts()] == [
        "invariant",
        "not invariant",
        "0.2",
        "disagrees",
    ]
    expect(rows.filter(has_text="dataset rescaling")).to_contain_text("agrees")
    lstm = page.locator("#cost tbody tr").filter(has_text="lstm")
    expect(lstm).to_contain_text("×1.46")
    expect(lstm).to_contain_text("1.41 – 1.52, on cpu")
    expect(lstm).to_contain_text("reaches back at 0.1; fades at 0.6, 1")
    expect(page.get_by_role("link", name="arXiv:1607.06450").first).to_have_attribute(
        "href", "https://arxiv.org/abs/1607.06450"
    )


def test_the_figure_of_gradients_and_its_table_agree_with_the_api(measured: Site, new_page: NewPage) -> None:
    page = new_page(measured, figures=True)
    page.goto("/methods/layer_norm")
    drawn = page.locator("[data-figure]")
    drawn.scroll_into_view_if_needed()
    expect(drawn.locator(".plot-area .main-svg").first).to_be_visible(timeout=90_000)
    figure = httpx.get(f"{measured.url}{CARD}/figures/gradients-lstm?theme=dark").json()
    lines = {line["name"]: line for line in figure["data"]}
    assert set(lines) == {"gain 0.1", "gain 0.6", "gain 1"}
    assert (lines["gain 1"]["x"][-1], lines["gain 1"]["y"][-1]) == (63, 1.0)
    assert lines["gain 1"]["y"][0] == pytest.approx(0.85**63)
    assert figure["layout"]["yaxis"]["type"] == "log"
    assert figure["layout"]["paper_bgcolor"] == "#171b21"
    page.get_by_text("Numbers", exact=True).click()
    row = page.locator("#table-gradients-lstm tbody tr").filter(has_text="gain 1")
    assert row.locator("td").all_inner_texts()[-1] == "1"


def test_an_unknown_figure_is_refused_with_the_known_names(measured: Site) -> None:
    answer = httpx.get(f"{measured.url}{CARD}/figures/gradients-gru")
    assert answer.status_code == 404
    assert "choose from gradients-lstm" in answer.json()["detail"]
    assert httpx.get(f"{measured.url}/v1/methods/nothing/report-card/figures/gradients-lstm").status_code == 404


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_missing_analysis_is_submitted_by_a_click(own_measured: Site, new_page: NewPage, scripts: bool) -> None:
    page = new_page(own_measured, scripts=scripts)
    page.goto("/methods/layer_norm")
    before = page.get_by_role("button", name=re.compile("^Measure ")).count()
    assert before == 7
    page.get_by_role("button", name="Measure step cost in gru").click()
    expect(page).to_have_url(re.compile("/experiments/exp_"))
    experiment = httpx.get(f"{own_measured.url}/v1{page.url.removeprefix(own_measured.url)}").json()
    assert experiment["spec"]["task"]["name"] == "step_cost"
    assert (experiment["spec"]["model"]["cell"], experiment["spec"]["norm"]["method"]) == ("gru", "layer_norm")
    page.goto("/methods/layer_norm")
    expect(page.get_by_role("button", name=re.compile("^Measure "))).to_have_count(before - 1)
    expect(page.locator("#missing")).to_contain_text(f"Under way: {experiment['id']}")


def test_standings_of_a_method_agree_with_the_board(site: Site, new_page: NewPage) -> None:
    page = new_page(site)
    page.goto("/methods/recurrent_batch_norm")
    card = httpx.get(f"{site.url}/v1/methods/recurrent_batch_norm/report-card").json()
    rows = page.locator("table", has=page.get_by_text("Standings of")).locator("tbody tr")
    expect(rows).to_have_count(len(card["standings"]))
    board = httpx.get(f"{site.url}/v1/leaderboards/permuted_mnist?profile=paper").json()
    own = next(one for one in board["entries"] if one["method"] == "recurrent_batch_norm")
    row = rows.filter(has_text="permuted_mnist")
    expect(row).to_contain_text(f"{own['value']['mean']:.2%}")
    row.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/boards/permuted_mnist"))
    page.goto("/methods?profile=small")
    expect(page.locator(".standings")).to_contain_text("permuted_digits")


def test_an_unchanged_page_of_a_method_is_not_sent_again(own_measured: Site) -> None:
    first = httpx.get(f"{own_measured.url}/methods/layer_norm")
    again = {"If-None-Match": first.headers["etag"]}
    assert httpx.get(f"{own_measured.url}/methods/layer_norm", headers=again).status_code == 304
    signed_in = {**again, "Cookie": "normbench_key=nb_x"}
    assert httpx.get(f"{own_measured.url}/methods/layer_norm", headers=signed_in).status_code == 200
    analysis = {"task": {"name": "step_cost"}, "model": {"cell": "gru"}, "norm": {"method": "layer_norm"}}
    httpx.post(f"{own_measured.url}/v1/experiments", json=analysis)
    assert httpx.get(f"{own_measured.url}/methods/layer_norm", headers=again).status_code == 200


def test_an_unknown_method_is_not_found(empty_site: Site) -> None:
    answer = httpx.get(f"{empty_site.url}/methods/layer_nrm", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "did you mean &#39;layer_norm&#39;?" in answer.text


def test_the_answer_gives_the_ranks_of_a_method() -> None:
    standing = REPORT_CARD.standings[0].model_copy(update={"n_seeds": 5})
    alone = REPORT_CARD.model_copy(update={"standings": [standing]})
    assert claim(alone) == "Its best rank is 1 of 1 (permuted_digits, small)."
    twice = REPORT_CARD.model_copy(update={"standings": [standing, standing], "missing": []})
    assert claim(twice) == "It ranks first on 2 of 2 boards."
    once = REPORT_CARD.model_copy(
        update={
            "standings": [standing.model_copy(update={"rank_ci": rank_ci}) for rank_ci in ((1, 1), (1, 3), (1, 1))],
            "missing": [],
        }
    )
    assert claim(once) == "It has rank 1 on 3 of 3 boards, and is surely first on 2 of these."
    lost = standing.model_copy(update={"rank": None, "shared_rank": None, "mean": None, "n_diverged": 5})
    assert claim(REPORT_CARD.model_copy(update={"standings": [lost]})) == "All of its runs diverged, on its only board."
    both = REPORT_CARD.model_copy(update={"standings": [lost, lost]})
    assert claim(both) == "All of its runs diverged, on all 2 boards."
    over = standing.model_copy(update={"rank": None, "shared_rank": None})
    assert claim(REPORT_CARD.model_copy(update={"standings": [over, lost]})) == "It has no rank on any board."
    few = standing.model_copy(update={"n_seeds": 1, "too_few_seeds": True})
    rows = REPORT_CARD.model_copy(update={"standings": [standing, standing, few, lost]})
    assert claim(rows) == "It ranks first on 2 of 4 boards.", "as many as the rows below the sentence"
    shared = {"rank": 3, "shared_rank": 2, "of": 4, "tied_with": ["none", "rms_norm (lr 0.1)"]}
    tied = REPORT_CARD.model_copy(update={"standings": [standing.model_copy(update=shared)]})
    assert claim(tied) == "Its best rank is 2 of 4, tied with none and rms_norm (lr 0.1) (permuted_digits, small)."
    nowhere = REPORT_CARD.model_copy(update={"standings": []})
    assert claim(nowhere) == "It is on no board yet."


def test_of_many_tied_entries_two_are_named() -> None:
    assert list_tied(["a", "b", "c"]) == "a, b and c"
    assert list_tied(["a", "b", "c", "d"]) == "a, b and 2 others"


def test_a_docstring_says_when_to_choose_the_method() -> None:
    found = split_description("It divides.\n\nMore.\n\nChoose it if\ntime is short.")
    assert found == ("It divides.", "Choose it if\ntime is short.", ["More."])


def test_the_first_card_says_what_a_method_costs_and_its_equation_is_typeset(measured: Site, new_page: NewPage) -> None:
    page = new_page(measured)
    page.goto("/methods/layer_norm")
    first = page.locator("main > section").first
    expect(first).to_contain_text(
        "In an LSTM a training step takes 1.46 times as long as with none (95% 1.41 – 1.52; steps in turns on cpu)"
        " and keeps 2.16 times as many bytes for its backward pass."
    )
    expect(first).to_contain_text("In a GRU and an RNN its cost is not measured. Measure it")
    assert page.locator(".equation math mfrac").count() == 3
    expect(page.get_by_role("heading", name="When to choose it")).to_be_visible()
    expect(page.get_by_role("link", name="arXiv:1607.06450").first).to_have_attribute(
        "href", "https://arxiv.org/abs/1607.06450"
    )
    page.goto("/methods/none")
    expect(page.locator("main > section").first).to_contain_text("all other methods are measured against it")


def test_the_title_of_a_method_is_escaped(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METHODS["layer_norm"], "title", "<script>alert(1)</script>")
    descriptions.method.cache_clear()
    try:
        shown = client.get("/methods/layer_norm", headers={"Accept": "text/html"}).text
    finally:
        descriptions.method.cache_clear()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script>alert(1)" not in shown
