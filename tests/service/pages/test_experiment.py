"""The page of an experiment: what it says, what its buttons do, and that it follows what happens."""

import re
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from normcore.spec import resolve
from normcore.target import Point
from service.db import Database
from service.experiments import examples, lifecycle
from service.experiments.downsampling import spread
from service.experiments.lifecycle import Lease
from service.experiments.schemas import ExperimentOut, HistoryEntry, ProgressOut, RunOut, derived_state
from service.experiments.seed_curves import SeedCurve, SeedCurves
from service.pages.experiment import (
    answer,
    board_address,
    curve_table,
    explain_errors,
    final_values,
    history,
    list_departures,
    validation_values,
)
from service.workload.backlog import Backlog
from tests.service.pages.conftest import PHONE, NewPage, Site, check_accessible, check_looks
from tests.service.pages.figures import drawn, expect_drawn
from tests.service.pages.test_targets import check_targets
from tests.service.sample_runs import (
    MAX_STEPS,
    begun,
    claimed,
    failed,
    finished,
    measured,
    recorded,
    run_of,
    submitted,
    submitted_analysis,
    written,
)

OTHER = {"Accept": "text/html", "Origin": "https://evil.example"}


def run(seed: int, state: str, **changes: Any) -> RunOut:
    kept = {"result": None, "outcome": None} if state != "succeeded" else {}
    progress = ProgressOut(step=100, max_steps=200, eta_seconds=125 if state == "running" else None, phase=None)
    values = {"seed": seed, "state": state, "progress": progress, **kept, **changes}
    return examples.RUN.model_copy(update=values)


def experiment(*runs: RunOut) -> ExperimentOut:
    state = derived_state([(run.state, run.state != "queued") for run in runs])
    return examples.EXPERIMENT.model_copy(update={"runs": list(runs), "state": state})


def worth(value: float | None) -> dict[str, Any]:
    return {**(examples.RUN.result or {}), "value": value}


DIVERGED = {"outcome": "diverged", "result": worth(None)}


@pytest.mark.parametrize(
    ("runs", "text", "tone"),
    [
        ([run(0, "queued"), run(1, "queued")], "None of 2 seeds has begun.", ""),
        (
            [run(0, "succeeded", result=worth(0.86)), run(1, "running"), run(2, "queued")],
            "1 of 3 seeds done, ~2 min 5 s left of those that train now; so far 86.00%.",
            "",
        ),
        ([run(0, "running")], "0 of 1 seed done, ~2 min 5 s left.", ""),
        (
            [run(0, "failed", error="OSError: no <b>\nmore"), run(1, "succeeded")],
            "1 of 2 seeds failed: the training raised OSError: no <b>.",
            "bad",
        ),
        ([run(0, "cancelled"), run(1, "succeeded")], "Cancelled: 1 of 2 seeds had ended before.", "warn"),
        (
            [
                run(0, "succeeded", result=worth(0.5)),
                run(1, "succeeded", result=worth(0.5)),
                run(2, "succeeded", **DIVERGED),
            ],
            "50.00% test accuracy, mean of 2 seeds, 95% interval 49.83 – 50.17.",  # half of one of 300 images
            "warn",
        ),
        (
            [
                run(0, "succeeded", result=worth(0.1)),
                run(1, "succeeded", result=worth(0.9)),
                run(2, "succeeded", outcome="diverged", result=worth(0.99)),  # its value does not count
            ],
            "50.00% test accuracy, mean of 2 seeds, 95% interval 0.00 – 100.00.",
            "warn",
        ),
        (
            [run(0, "succeeded", **DIVERGED), run(1, "succeeded", **DIVERGED)],
            "All 2 seeds diverged: there is no finite result.",
            "warn",
        ),
    ],
)
def test_the_answer_says_how_it_is_going(runs: Sequence[RunOut], text: str, tone: str) -> None:
    found = answer(experiment(*runs), None)
    assert (found.text, found.tone) == (text, tone)


def test_an_experiment_that_is_being_cancelled_says_nothing_of_time_left() -> None:
    found = answer(experiment(run(0, "running"), run(1, "cancelled")), None, cancelling=True)
    assert (found.text, found.tone) == ("It is being cancelled: 1 running seed will stop within seconds.", "warn")


def test_several_reasons_of_failures_are_counted_and_explained() -> None:
    errors = ["ValueError: a", "out of memory: b", "out of memory: b"]
    runs = [run(seed, "failed", error=error) for seed, error in enumerate(errors)]
    found = answer(experiment(*runs), None)
    assert found.text == "3 of 3 seeds failed: it ran out of memory: b; 1 other reason below."
    assert [(error, [one.seed for one in group]) for error, _, group in explain_errors(runs)] == [
        ("out of memory: b", [1, 2]),
        ("ValueError: a", [0]),
    ]


def test_unfinished_seeds_have_their_newest_validation_value_and_finished_ones_that_of_their_model() -> None:
    runs = [run(0, "running", id="run_a"), run(1, "succeeded", id="run_b"), run(2, "queued", id="run_c")]
    assert validation_values(runs, {"run_a": 0.5, "run_b": 0.4}) == {"run_a": 0.5, "run_b": 0.713}
    assert final_values(runs) == {"run_b": 0.677}


@pytest.mark.parametrize(
    ("device", "command"), [("auto", "normbench worker"), ("cuda", "normbench worker --device cuda:0")]
)
def test_the_answer_without_a_live_worker_says_how_to_start_a_worker(device: str, command: str) -> None:
    found = answer(experiment(run(0, "queued")), Backlog(device, 1, 0, 1.0, 0, None))
    assert (found.tone, found.command) == ("warn", command)
    served = answer(experiment(run(0, "queued")), Backlog(device, 3, 1, 1.0, 2, 4.0))
    assert served.command is None
    assert served.facts == [f"2 workers for {device}", "3 runs waiting, 1 running"]


def test_the_board_of_an_experiment_is_that_of_its_own_problem() -> None:
    own = examples.EXPERIMENT
    assert board_address(own) == "/boards/permuted_digits?profile=small"
    other = own.model_copy(update={"problem": "0123"})
    assert board_address(other) == "/boards/permuted_digits?profile=small&problem=0123"
    assert board_address(own.model_copy(update={"problem": None})) is None


def test_departures_are_shown_with_the_values_of_the_profile() -> None:
    spec = resolve(written(training={"batch_size": 7})).model_dump(mode="json")
    usual = str(resolve(written()).model_dump(mode="json")["training"]["batch_size"])
    assert list_departures(spec) == [("training.batch_size", "7", usual)]
    assert list_departures({**spec, "task": {"name": "gone", "profile": "small"}}) is None


def test_the_table_has_the_curves_at_steps_that_are_spread() -> None:
    assert spread(list(range(100)), 4) == [0, 33, 66, 99]
    seeds = [
        SeedCurve("a", 0, 1, [Point(1, 0.5, 1.0), Point(2, 0.75, 2.0)]),
        SeedCurve("b", 1, 1, [Point(1, 0.25, 1.0)]),
    ]
    found = curve_table(SeedCurves("accuracy", seeds, [Point(1, 0.375, 1.0)]))
    assert found.columns == ["seed 0", "seed 1", "mean"]
    assert found.rows == [(1, ["50.00%", "25.00%", "37.50%"]), (2, ["75.00%", "–", "–"])]


def test_the_history_begins_with_what_went_wrong_last() -> None:
    entries = [HistoryEntry(attempt=k, at=examples.CREATED.replace(hour=k), reason="", lost=True) for k in (1, 2, 3)]
    found = history([run(0, "queued", history=[entries[0], entries[2]]), run(1, "queued", history=[entries[1]])])
    assert [(seed, entry.attempt) for seed, entry in found] == [(0, 3), (1, 2), (0, 1)]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_buttons_cancel_and_retry_and_lead_back(client: TestClient, db: Database) -> None:
    stored = submitted(db)
    path = f"/experiments/{stored.id}"
    assert f'action="{path}/cancel"' in client.get(path).text
    answer = client.post(f"{path}/cancel", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert run_of(db, stored.runs[0].id).state == "cancelled"
    shown = client.get(path).text
    assert f'action="{path}/cancel"' not in shown
    answer = client.post(f"{path}/retry", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert (run_of(db, stored.runs[0].id).state, run_of(db, stored.runs[0].id).attempt) == ("queued", 2)
    assert f'action="{path}/retry"' not in client.get(path).text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_page_of_another_site_cannot_cancel(client: TestClient, db: Database) -> None:
    stored = submitted(db)
    assert client.post(f"/experiments/{stored.id}/cancel", headers=OTHER).status_code == 403
    assert run_of(db, stored.runs[0].id).state == "queued"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_page_says_that_a_running_seed_is_being_cancelled(client: TestClient, db: Database) -> None:
    stored = submitted(db)
    begun(db, claimed(db).lease)
    client.post(f"/experiments/{stored.id}/cancel")
    shown = client.get(f"/experiments/{stored.id}").text
    assert "cancelling" in shown
    assert "/cancel" not in shown
    assert "left" not in shown
    assert ">running</span>\n" not in shown.split("<main")[1].split("<table")[0]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_values_are_validation_values_until_the_experiment_has_ended(client: TestClient, db: Database) -> None:
    stored = submitted(db, seeds=[0, 1])
    for _ in stored.runs:
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, measured(5))
    path = f"/experiments/{stored.id}"
    assert "Validation accuracy</th>" in client.get(path).text
    assert 'data-label="Validation" class="right">' in client.get(path).text
    for run_id in (one.id for one in stored.runs):
        finished(db, Lease(run_id, 1, 0.0))
    shown = client.get(path).text
    assert "Test accuracy</th>" in shown
    assert "Validation accuracy</th>" not in shown


@pytest.mark.parametrize("scripts", [True, False])
def test_a_hundred_seeds_fold_into_a_strip_above_the_curves(month_site: Site, new_page: NewPage, scripts: bool) -> None:
    page = new_page(month_site, scripts=scripts)
    page.goto(f"/experiments/{month_site.found['many seeds']}")
    expect(page.locator("#states")).to_have_text("3 of 100 diverged")
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert headings.index("100 seeds") < headings.index("Curves")
    marks = page.locator(".strip a")
    texts = [mark.get_attribute("title") or "" for mark in marks.all()]
    assert len(texts) == 100
    assert all(text.endswith("diverged") for text in texts[-3:])
    values = [float(text.partition(": ")[2].partition("%")[0]) for text in texts[:-3]]
    assert values == sorted(values, reverse=True)
    table = page.get_by_role("table", name="The experiment's seeds")
    expect(table).to_be_hidden()
    page.get_by_text("All 100 seeds as a table").click()
    expect(table.locator("tbody tr")).to_have_count(100)
    if scripts:
        check_looks(page)
        check_targets(page)
    best = texts[0].partition(":")[0]
    marks.first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(best.replace("seed", "Seed"))


def test_the_reason_of_a_failure_is_three_clicks_from_the_list(month_site: Site, new_page: NewPage) -> None:
    page = new_page(month_site)
    page.goto("/experiments?state=failed")
    page.locator(f"a[href='/experiments/{month_site.found['failed']}']").first.click()
    expect(page.locator("#answer .verdict")).to_contain_text("failed: it ran out of memory: ")
    expect(page.locator("#errors")).to_contain_text("The page of this seed has its log.")
    check_looks(page)
    check_targets(page)
    page.locator("#errors a").first.click()
    expect(page.locator("#answer .verdict")).to_contain_text("it ran out of memory: the training needed 5.8 GiB")
    expect(page.locator("#answer")).to_contain_text("Take a smaller batch or a smaller model.")


def test_a_page_with_a_hundred_seeds_has_at_most_40_kb(month_site: Site) -> None:
    with httpx.Client(base_url=month_site.url, headers={"Accept-Encoding": "gzip"}) as client:
        sizes = {}
        for path in (f"/experiments/{month_site.found['many seeds']}",):
            with client.stream("GET", path) as answered:
                shown = b"".join(answered.iter_bytes()).decode()
                sizes[path] = answered.num_bytes_downloaded
        for name in set(re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', shown)):
            with client.stream("GET", name) as answered:
                answered.read()
                sizes[name] = answered.num_bytes_downloaded
    assert sum(sizes.values()) <= 40_000, sizes


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_page_that_has_not_changed_is_not_sent_again(client: TestClient, db: Database) -> None:
    stored = submitted(db)
    lease = claimed(db).lease
    begun(db, lease)
    path = f"/experiments/{stored.id}"
    etag = client.get(path).headers["etag"]
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 304
    recorded(db, lease, measured(5))
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 200


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_analysis_has_a_page(client: TestClient, db: Database) -> None:
    stored = submitted_analysis(
        db, {"task": {"name": "invariances", "profile": "smoke"}, "norm": {"method": "rms_norm"}}
    )
    shown = client.get(f"/experiments/{stored.id}")
    assert shown.status_code == 200
    assert f'data-figure="/v1/runs/{stored.runs[0].id}/figures/curves"' in shown.text
    assert ">Board<" not in shown.text


@pytest.mark.parametrize("name", ["exp_1", "run_1", "swp_1"])
def test_the_page_of_an_unknown_experiment_links_to_the_list(shared_client: TestClient, name: str) -> None:
    answer = shared_client.get(f"/experiments/{name}", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert 'href="/experiments">See all experiments</a>' in answer.text


@pytest.mark.parametrize("which", ["running", "failed", "waiting"])
def test_the_page_of_an_experiment_is_accessible(site: Site, new_page: NewPage, which: str) -> None:
    page = new_page(site)
    page.goto(f"/experiments/{site.found[which]}")
    for summary in page.locator("summary").all():
        summary.click()
    expect(page.locator("#live")).to_have_text("ended" if which == "failed" else "live")
    check_looks(page)


def test_the_page_of_an_experiment_works_without_scripts(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    stored = submitted(db, seeds=(0, 1), labels={"note": "<script>alert(1)</script>"})
    db.close()
    page = new_page(fresh_site, scripts=False)
    page.goto(f"/experiments/{stored.id}")
    expect(page.get_by_role("link", name="note: <script>alert(1)</script>")).to_be_visible()
    expect(page.get_by_role("link", name="Reload")).to_be_visible()
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".answer")).to_contain_text("Cancelled: 0 of 2 seeds had ended before.")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".answer")).to_contain_text("None of 2 seeds has begun")


def test_curves_grow_states_are_announced_and_a_takeover_fades(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    stored = submitted(db, seeds=(0, 1))
    page = new_page(fresh_site, figures=True)
    page.goto(f"/experiments/{stored.id}")
    expect(page.locator("#live")).to_have_text("live")
    page.locator("#curves-title").scroll_into_view_if_needed()
    expect(page.locator("[data-drawn]")).to_have_count(1)
    lease = claimed(db).lease
    begun(db, lease)
    expect(page.locator(f"#{stored.runs[0].id}")).to_contain_text("running")
    expect(page.get_by_role("status")).to_have_text("seed 0 running")
    recorded(db, lease, measured(5), saved=5)
    recorded(db, lease, measured(10))
    expect_drawn(page, seed_0=[(5, 0.05), (10, 0.1)], seed_1=[], mean=[])
    expect(page.locator(f"#{stored.runs[0].id}")).to_contain_text(f"10 / {MAX_STEPS}")
    again = taken_over(db, lease)
    expect(page.locator("#history")).to_contain_text("the worker is gone")
    expect(page.locator(f"#{lease.run_id}")).to_contain_text("running")
    assert drawn(page)["seed 0"] == [(5, 0.05), (10, 0.1)], "the new attempt has not begun"
    begun(db, again, 5, resumed_from=5)
    expect_drawn(page, seed_0=[(5, 0.05)], faded=[(10, 0.1)])
    recorded(db, again, measured(10, valid__accuracy=0.25))
    expect_drawn(page, seed_0=[(5, 0.05), (10, 0.25)], faded=[(10, 0.1)])
    finished(db, again)
    other = claimed(db).lease
    begun(db, other)
    failed(db, other, "OSError: <script>alert(1)</script>")
    db.close()
    expect(page.locator("#live")).to_have_text("ended")
    expect(page.locator("#states")).to_contain_text("failed")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    expect(page.locator("#errors")).to_contain_text("OSError: <script>alert(1)</script>")
    check_accessible(page)


def test_an_attempt_that_begins_anew_takes_over_with_its_first_measurement(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    stored = submitted(db)
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(5), measured(10), measured(15))
    page = new_page(fresh_site, figures=True)
    page.goto(f"/experiments/{stored.id}")
    page.locator("#curves-title").scroll_into_view_if_needed()
    expect_drawn(page, seed_0=[(5, 0.05), (10, 0.1), (15, 0.15)])
    again = taken_over(db, lease)
    begun(db, again)
    recorded(db, again, measured(10, valid__accuracy=0.75))
    db.close()
    expect_drawn(page, seed_0=[(10, 0.75)], faded=[(5, 0.05), (10, 0.1), (15, 0.15)])


def taken_over(db: Database, lease: Lease) -> Lease:
    """Lease of the next attempt, which a worker has claimed and not begun."""
    with db.transaction() as session:
        lifecycle.lose(session, lease, "the worker is gone", max_attempts=3)
    again = claimed(db).lease
    assert (again.run_id, again.attempt) == (lease.run_id, lease.attempt + 1)
    return again


def test_nothing_moves_when_the_page_says_whether_it_is_live(site: Site, new_page: NewPage) -> None:
    page = new_page(site, size=PHONE)
    page.goto("/experiments?state=succeeded")
    page.locator("a[href^='/experiments/exp_']").first.click()
    expect(page.locator("#live")).to_have_text("ended")
    as_sent, *as_said = page.evaluate(
        """async () => {
          const top = () => document.getElementById("answer").getBoundingClientRect().top;
          const tops = ["live", "reconnecting", "ended"].map((state) => {
            const chip = document.getElementById("live");
            [chip.textContent, chip.dataset.liveState] = [state, state];
            return top();
          });
          const sent = new DOMParser().parseFromString(await (await fetch(location)).text(), "text/html");
          document.querySelector(".title-row").replaceWith(document.importNode(sent.querySelector(".title-row"), true));
          return [top(), ...tops];
        }"""
    )
    assert as_said == [as_sent] * 3


def test_a_run_that_waits_shows_a_sentence_and_then_its_curves(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    stored = submitted(db)
    whole, single = new_page(fresh_site, figures=True), new_page(fresh_site, figures=True)
    whole.goto(f"/experiments/{stored.id}")
    single.goto(f"/runs/{stored.runs[0].id}")
    for page in (whole, single):
        page.locator("#curves-title").scroll_into_view_if_needed()
        expect(page.locator("[data-drawn]")).to_have_count(1)
        expect(page.locator(".figure-note")).to_have_text(
            "Nothing is measured yet; the curves begin with the first evaluation."
        )
        expect(page.locator(".plot-area")).to_be_hidden()
        expect(page.get_by_role("button", name="log y")).to_have_count(0)
        expect(page.locator("#live")).to_have_text("live")
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(5))
    expect_drawn(whole, seed_0=[(5, 0.05)])
    expect_drawn(single, **{"valid.accuracy": [(5, 0.05)]})
    for page in (whole, single):
        expect(page.locator(".plot-area")).to_be_visible()
        expect(page.locator(".figure-note")).to_have_count(0)
    whole.get_by_role("button", name="log y").click()
    finished(db, lease, "diverged", value=None)
    db.close()
    expect_drawn(whole, **{"seed 0 diverged": [(5, 0.05)]})
