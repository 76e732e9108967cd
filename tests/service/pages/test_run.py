"""The page of a run: what happened."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from normcore.events import Finding
from normcore.figures import as_json
from normcore.figures.attention import attention
from normcore.figures.confusion import confusion_matrix
from normcore.figures.film import film
from service.artifacts import Artifacts
from service.db import Database
from service.experiments import examples
from service.experiments.schemas import MeasurementsOut, ProgressOut, RunOut, SeriesOut
from service.fleet.registration import WorkerIdentity, register
from service.pages.run import answer, results, table, timing
from service.settings import Settings
from tests.service.pages.conftest import NewPage, Site, check_accessible, check_looks
from tests.service.pages.figures import expect_drawn
from tests.service.sample_runs import (
    analysed,
    begun,
    claimed,
    failed,
    finished,
    measured,
    recorded,
    submitted,
    timing_of,
)

PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


def run(**changes: Any) -> RunOut:
    return examples.RUN.model_copy(update=changes)


def broke(series: str) -> dict[str, Any]:
    return {"metric": "accuracy", "divergence": {"series": series, "step": 10, "last_finite": {"train.loss": 2.3105}}}


AT_WORK = ProgressOut(step=1200, max_steps=2000, eta_seconds=61.0, phase=None)


@pytest.mark.parametrize(
    ("changes", "text", "tone"),
    [
        ({}, "67.70% test accuracy; it reached the target at step 91, after 5.2 s of training.", ""),
        ({"state": "queued"}, "It waits for a worker.", ""),
        ({"state": "queued", "attempt": 2}, "It waits for a worker again, as attempt 2.", ""),
        ({"state": "running", "progress": AT_WORK}, "Step 1\u202f200 of 2\u202f000, ~1 min 1 s left.", ""),
        (
            {"state": "failed", "error": "ValueError: no <b>.\nmore", "progress": AT_WORK},
            "It failed at step 1\u202f200 of 2\u202f000: the training raised ValueError: no <b>.",
            "bad",
        ),
        ({"state": "cancelled", "progress": AT_WORK}, "It was cancelled at step 1\u202f200.", "warn"),
        ({"outcome": "diverged"}, "It diverged at step 200: its numbers were no longer finite.", "warn"),
        (
            {"outcome": "diverged", "result": broke("train.loss")},
            "It diverged at step 10: train.loss was no longer finite; before that it was 2.3105.",
            "warn",
        ),
        (
            {"outcome": "diverged", "result": broke("valid.loss")},
            "It diverged at step 10: valid.loss was no longer finite.",
            "warn",
        ),
    ],
)
def test_the_answer_says_what_happened(changes: dict[str, Any], text: str, tone: str) -> None:
    found = answer(run(**changes), "accuracy")
    assert (found.text, found.tone) == (text, tone)


@pytest.mark.parametrize(
    ("attempt", "device", "text", "command"),
    [
        (1, "auto", "It waits: no worker is alive. Start one:", "normbench worker"),
        (1, "cuda", "It waits: no worker for cuda is alive. Start one:", "normbench worker --device cuda:0"),
        (2, "auto", "It waits again, as attempt 2: no worker is alive. Start one:", "normbench worker"),
    ],
)
def test_a_run_that_no_worker_will_take_says_how_to_start_a_worker(
    attempt: int, device: str, text: str, command: str
) -> None:
    found = answer(run(state="queued", attempt=attempt), "accuracy", device)
    assert (found.text, found.tone, found.command) == (text, "warn", command)


def test_the_page_of_a_run_that_waits_knows_whether_a_worker_is_there(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    waiting = submitted(db).runs[0].id
    page = new_page(fresh_site)
    page.goto(f"/runs/{waiting}")
    expect(page.locator("#answer .verdict")).to_have_text("It waits: no worker is alive. Start one:")
    expect(page.locator("#answer pre")).to_have_text("normbench worker")
    check_accessible(page)
    with db.transaction() as session:
        register(session, WorkerIdentity("wrk_1", "node-1", 4711, "cpu", ("auto", "cpu"), True))
    db.close()
    page.reload()
    expect(page.locator("#answer .verdict")).to_have_text("It waits for a worker.")
    expect(page.locator("#answer pre")).to_have_count(0)


def test_an_analysis_says_how_much_it_found() -> None:
    assert answer(run(result={"findings": [{}, {}]}, outcome=None), None).text == "It found 2 things."


def test_results_and_seconds_have_the_usual_format() -> None:
    assert results(examples.RUN) == [
        ("test accuracy", "67.70%"),
        ("validation accuracy", "71.30%"),
        ("selected at step", "200"),
        ("steps to the target", "91"),
        ("seconds to the target", "5.2 s"),
    ]
    assert results(run(result=None)) == []
    assert examples.RUN.timing is not None
    assert dict(timing(examples.RUN.timing))["training"] == "11 s"


def test_the_table_has_every_series_in_its_own_unit() -> None:
    loss = SeriesOut(unit="nats", direction="minimize", points=[(1, 1.5, 1.0), (2, 0.5, 2.0)])
    share = SeriesOut(unit="", direction="maximize", points=[(2, 0.5, 2.0)])
    found = table(MeasurementsOut(x="step", series={"train.loss": loss, "valid.accuracy": share}))
    assert found.columns == ["train.loss", "valid.accuracy"]
    assert found.rows == [(1, ["1.5000", "–"]), (2, ["0.5000", "50.00%"])]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_contended_run_says_why_and_its_files_can_be_had(
    client: TestClient, db: Database, settings: Settings
) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    finished(db, lease, timing=timing_of(probe=(0.2,) * 9))
    Artifacts(settings.artifacts_url).write(run_id, 1, "figures/glimpses.svg", PICTURE)
    shown = client.get(f"/runs/{run_id}").text
    assert "contended" in shown
    assert "the reference kernel took 10.00 times as long" in shown
    assert f'href="/v1/runs/{run_id}/artifacts/figures/glimpses.svg" download' in shown
    assert f'<img src="/v1/runs/{run_id}/artifacts/figures/glimpses.svg"' in shown
    assert f"normbench replay {run_id}" in shown


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_analysis_shows_its_findings_beside_what_is_claimed(client: TestClient, db: Database) -> None:
    finding = Finding("re-scaling", 0.25, "largest change", "invariant").against("invariant <b>", True, "LN, Table 1")
    run_id = analysed(
        db, {"task": {"name": "invariances", "profile": "smoke"}, "norm": {"method": "rms_norm"}}, finding
    )
    shown = client.get(f"/runs/{run_id}").text
    for text in ("re-scaling", "0.2500", "largest change", "invariant &lt;b&gt;", "LN, Table 1", "as claimed"):
        assert text in shown


def test_the_page_of_an_unknown_run_links_to_the_list(shared_client: TestClient) -> None:
    answer = shared_client.get("/runs/run_1", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert 'href="/experiments">See all experiments</a>' in answer.text


def failed_with_a_log(db: Database, settings: Settings) -> str:
    """A run that failed, with a log of hostile lines; return its id."""
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    failed(db, lease, "IndexError: index 784 is out of bounds")
    log = "".join(f"step {k} <script>alert(1)</script> \x1b[31mred\x1b[0m\n" for k in range(300)) + "IndexError\n"
    Artifacts(settings.artifacts_url).write(run_id, 1, "log.txt", log.encode())
    return run_id


def test_a_failed_run_begins_with_the_reason_and_the_end_of_its_log(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    run_id = failed_with_a_log(db, fresh_site.settings)
    db.close()
    for scripts in (True, False):
        page = new_page(fresh_site, scripts=scripts)
        page.goto(f"/runs/{run_id}")
        expect(page.locator("#answer .verdict")).to_have_text(
            "It failed before its first step: the training raised IndexError: index 784 is out of bounds."
        )
        expect(page.locator("#answer")).to_contain_text("Retry it on the page of its experiment")
        expect(page.locator("main > section:visible").nth(1)).to_have_id("log")
        lines = (page.locator("#log pre").text_content() or "").splitlines()
        assert len(lines) == 200
        assert lines[-2:] == ["step 299 <script>alert(1)</script> red", "IndexError"]
        at_end = "Math.abs(document.querySelector('.log-frame').scrollTop) < 1"
        if scripts:
            assert page.evaluate(at_end), "the newest line is in view"
            check_looks(page)


def test_the_log_of_a_running_run_grows_on_its_page(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    run_id = submitted(db).runs[0].id
    begun(db, claimed(db, lease_seconds=600.0).lease)
    db.close()
    page = new_page(fresh_site)
    page.goto(f"/runs/{run_id}")
    expect(page.locator("#log")).to_contain_text("There are no lines yet")
    store = Artifacts(fresh_site.settings.artifacts_url)
    store.write(run_id, 1, "log.txt", b"attempt 1 on cpu\n")
    expect(page.locator("#log pre")).to_have_text("attempt 1 on cpu")
    store.write(run_id, 1, "log.txt", b"attempt 1 on cpu\nstep 5\n")
    expect(page.locator("#log pre")).to_have_text("attempt 1 on cpu\nstep 5")


FILM = film([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]], "Glimpses", "glimpse")
LEFT = {
    "figures/confusion_matrix.json": as_json(confusion_matrix([[9, 1], [0, 5]], ["0", "1"], "Test data")),
    "figures/attention.json": as_json(attention([[0.9, 0.0], [0.1, 1.0]], ["<b>", "cat"], "Who?", "question", "text")),
    "figures/painting.json": as_json(FILM),
    "figures/broken.json": b"[",
    "figures/glimpses.svg": PICTURE,
    "sample.txt": b"once <script>alert(1)</script>",
}


def test_a_run_shows_what_its_model_does(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    finished(db, lease)
    db.close()
    for name, content in LEFT.items():
        Artifacts(fresh_site.settings.artifacts_url).write(run_id, 1, name, content)
    page = new_page(fresh_site)
    page.goto(f"/runs/{run_id}")
    matrix = page.get_by_role("table", name="Rows: is. Columns: taken for.")
    assert matrix.locator("tbody tr").all_inner_texts() == ["0\t9\t1", "1\t0\t5"]
    expect(page.get_by_role("img", name="Who?: text by question")).to_be_visible()
    page.get_by_text("The largest values as a table").click()
    largest = page.get_by_role("table", name="Largest values of some columns").locator("tbody tr")
    assert largest.all_inner_texts() == ["1\t<b> 0.9, cat 0.1", "2\tcat 1"]
    expect(page.get_by_text("This page cannot show a figure of this kind.")).to_have_count(1)
    expect(page.get_by_role("img", name="Glimpses", exact=True)).to_be_visible()
    expect(page.locator("pre.text")).to_have_text("once <script>alert(1)</script>")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("img", name="Glimpses: picture 2 of 2")).to_be_visible()
    corner = "[...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 1, 1).data]"
    assert page.evaluate(corner) == [255, 255, 255, 255]
    page.get_by_label("Picture of the film").fill("1")
    expect(page.get_by_role("img", name="Glimpses: picture 1 of 2")).to_be_visible()
    assert page.evaluate(corner) == [0, 0, 0, 255]
    check_looks(page)
    plain = new_page(fresh_site, scripts=False)
    plain.goto(f"/runs/{run_id}")
    expect(plain.get_by_role("button", name="Show")).to_be_hidden()
    expect(plain.locator("table.matrix")).to_be_visible()


@pytest.mark.parametrize("which", ["running", "failed"])
def test_the_page_of_a_run_is_accessible(site: Site, new_page: NewPage, which: str) -> None:
    page = new_page(site)
    page.goto(f"/experiments/{site.found[which]}")
    page.get_by_role("link", name="seed 0").click()
    expect(page.locator("#live")).to_have_text("ended" if which == "failed" else "live")
    for summary in page.locator("summary").all():
        summary.click()
    check_looks(page)


def test_curves_on_the_page_of_a_run_grow(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(5))
    page = new_page(fresh_site, figures=True)
    page.goto(f"/runs/{run_id}")
    expect_drawn(page, **{"valid.accuracy": [(5.0, 0.05)]})
    recorded(db, lease, measured(10), saved=10)
    expect_drawn(page, **{"valid.accuracy": [(5.0, 0.05), (10.0, 0.1)]})
    bars = {"data": [{"type": "bar", "name": "a", "x": [0, 1], "y": [1, 2]}], "layout": {"xaxis": {}, "yaxis": {}}}
    Artifacts(fresh_site.settings.artifacts_url).write(run_id, 1, "figures/counts.json", json.dumps(bars).encode())
    finished(db, lease)
    db.close()
    expect(page.locator("#live")).to_have_text("ended")
    expect(page.locator("#answer")).to_contain_text("50.00% test accuracy")
    page.locator("#shown").scroll_into_view_if_needed()
    expect(page.locator("#shown .plot-area .main-svg").first).to_be_visible()
