"""Runs that diverged are shown as diverged: no page shows them in the colour of success."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import examples
from service.pages.outcomes import find_divergence_step
from tests.service.pages.conftest import NewPage, Site, check_looks
from tests.service.sample_runs import begun, claimed, failed, finished, measured, recorded, submitted
from tests.service.sweeps.sample_sweeps import run_all, stored

SMOKE = {"task": {"name": "permuted_digits", "profile": "smoke"}}


def chips(client: TestClient, path: str) -> list[tuple[str, str]]:
    """The chips of a page: kind and text."""
    found = client.get(path, headers={"Accept": "text/html"}).text
    return [(kind.strip(), text) for kind, text in re.findall(r'<span class="chip([^"]*)">([^<]*)</span>', found)]


def diverged(db: Database, *, at: int = 10, of: int = 1, lost: int = 1) -> Any:
    """An experiment of some seeds, of which the first diverged at a step."""
    experiment = submitted(db, "rms_norm", seeds=range(of))
    for k in range(of):
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, measured(at))
        if k < lost:
            finished(db, lease, "diverged", value=None)
        else:
            finished(db, lease, value=0.5)
    return experiment


@pytest.mark.parametrize(
    ("result", "step"),
    [
        (None, 200),
        ({}, 200),
        ({"divergence": None}, 200),
        ({"divergence": {"series": "train.loss", "step": 7, "last_finite": 3.5}}, 7),
    ],
)
def test_the_step_of_a_divergence_comes_from_the_result_or_is_the_last_step(result: Any, step: int) -> None:
    assert find_divergence_step(examples.RUN.model_copy(update={"outcome": "diverged", "result": result})) == step
    assert find_divergence_step(examples.RUN.model_copy(update={"outcome": "completed", "result": result})) is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_diverged_experiment_and_its_run_are_amber_and_not_green(client: TestClient, db: Database) -> None:
    experiment = diverged(db)
    [run] = experiment.runs
    for path, amber in {
        f"/experiments/{experiment.id}": {"1 of 1 diverged", "diverged at step 10"},
        f"/runs/{run.id}": {"diverged at step 10"},
        "/experiments": {"diverged"},
        "/": {"diverged"},
    }.items():
        shown = chips(client, path)
        assert {text for kind, text in shown if kind == "warn"} == amber, path
        assert not [text for kind, text in shown if kind == "bad" or (text == "succeeded" and kind == "ok")], path
    listed = client.get("/experiments").text
    assert re.findall(r'<rect class="of-(\w+)" x="([0-9.]+)"', listed) == [("diverged", "0.0")]
    page = client.get(f"/experiments/{experiment.id}").text
    assert '<section id="answer" class="answer warn"' in page
    assert re.search(r'<progress class="diverged" max="40" value="10"', page), "and no full bar"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_one_diverged_seed_of_three_takes_its_share_of_the_bar(client: TestClient, db: Database) -> None:
    experiment = diverged(db, of=3)
    listed = client.get("/experiments").text
    bars = re.findall(r'<rect class="of-(\w+)" x="([0-9.]+)" y="0" width="([0-9.]+)"', listed)
    assert bars == [("succeeded", "0.0", "66.67"), ("diverged", "66.67", "33.33")]
    assert "<span>2 succeeded, 1 diverged</span>" in listed
    shown = chips(client, f"/experiments/{experiment.id}")
    assert shown[0] == ("warn", "1 of 3 diverged")
    assert [text for kind, text in shown if kind == "ok"] == ["succeeded", "succeeded"], "its other two runs"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_page_counts_the_failed_and_the_cancelled_seeds_as_the_list_does(client: TestClient, db: Database) -> None:
    experiment = submitted(db, "rms_norm", seeds=range(3))
    failed(db, claimed(db).lease, "OSError: no")
    for _ in range(2):
        lease = claimed(db).lease
        begun(db, lease)
        finished(db, lease, value=0.5)
    shown = {path: chips(client, path)[0] for path in ("/experiments", f"/experiments/{experiment.id}")}
    assert set(shown.values()) == {("bad", "1 of 3 failed")}, shown


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_sweep_with_diverged_runs_is_amber_in_the_list_and_on_its_page(client: TestClient, db: Database) -> None:
    sweep_id = stored(db, {"spec": {**SMOKE, "seeds": [0, 1]}, "grid": {"training.optimizer.lr": [1e-3, 1e-1]}})
    run_all(db, lambda spec, seed: 0.5 if spec["training"]["optimizer"]["lr"] < 0.1 else None)
    assert client.get(f"/v1/sweeps/{sweep_id}").json()["n_diverged"] == 2
    assert chips(client, "/sweeps") == [("", "succeeded"), ("warn", "2 of 4 diverged")]
    shown = chips(client, f"/sweeps/{sweep_id}")
    assert shown[:2] == [("", "succeeded"), ("warn", "2 of 4 diverged")]
    assert ("warn", "2 of 2 diverged") in shown
    assert [text for kind, text in shown if kind == "ok" and text == "succeeded"] == ["succeeded"], "the other cell"
    for path in ("/sweeps", f"/sweeps/{sweep_id}"):
        assert "<progress" in (page := client.get(path).text)
        assert not re.search(r'<progress class="[^"]*\bdiverged"', page), f"{path}: half of its runs did not diverge"


def test_pages_with_diverged_runs_are_accessible(fresh_site: Site, new_page: NewPage) -> None:
    db = Database(fresh_site.settings.database_url)
    experiment = diverged(db, of=2)
    db.close()
    page = new_page(fresh_site)
    run, paths = experiment.runs[0], ["/experiments", "/methods/rms_norm"]
    for path in (f"/experiments/{experiment.id}", f"/runs/{run.id}", *paths):
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        check_looks(page)
