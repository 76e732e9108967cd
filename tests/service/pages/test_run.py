"""The page of a run: what happened."""

from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from normcore.events import Finding
from service.artifacts import Artifacts
from service.db import Database
from service.experiments import examples
from service.experiments.schemas import MeasurementsOut, ProgressOut, RunOut, SeriesOut
from service.fleet.registration import WorkerIdentity, register
from service.pages.run import answer, results, table, timing
from service.settings import Settings
from tests.service.pages.conftest import NewPage, Site, check_accessible, check_looks
from tests.service.pages.figures import expect_drawn
from tests.service.sample_runs import analysed, begun, claimed, finished, measured, recorded, submitted, timing_of

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
        ({"state": "failed"}, "It failed; the error is below.", "bad"),
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
    finished(db, lease)
    db.close()
    expect(page.locator("#live")).to_have_text("ended")
    expect(page.locator("#answer")).to_contain_text("50.00% test accuracy")
