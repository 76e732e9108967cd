"""Figures over HTTP: curves of an experiment and of a run, drawn from what is stored, and figures that a task made of
the model.
"""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.events import Outcome
from normcore.figures.figure import THEMES
from service.artifacts import Artifacts
from service.db import Database
from service.experiments import lifecycle
from service.experiments.figures import MAX_POINTS, MAX_SEEDS
from service.settings import Settings
from tests.service.http_calls import is_problem
from tests.service.sample_runs import (
    begun,
    claimed,
    failed,
    finished,
    measured,
    recorded,
    submitted,
    submitted_analysis,
)

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
MATRIX: dict[str, Any] = {"data": [{"type": "heatmap", "z": [[1, 0], [0, 1]]}], "layout": {"title": {"text": "here"}}}


def figure(client: TestClient, run_id: str, name: str = "curves", **query: str) -> Any:
    answer = client.get(f"/v1/runs/{run_id}/figures/{name}", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def drawn(figure: Any) -> dict[str, list[list[float]]]:
    """The points of every line by its name."""
    return {line["name"]: [[x, y] for x, y in zip(line["x"], line["y"], strict=True)] for line in figure["data"]}


def stored_curves(client: TestClient, run_id: str) -> dict[str, list[list[float]]]:
    series = client.get(f"/v1/runs/{run_id}/measurements").json()["series"]
    return {name: [[step, value] for step, value, _ in found["points"]] for name, found in series.items()}


def test_curves_are_the_measurements_of_a_running_run_and_of_an_ended_one(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    assert figure(client, run_id)["data"] == [], "nothing is measured yet"
    lease = claimed(db).lease
    begun(db, lease)
    for step in (5, 10, 15):
        recorded(db, lease, measured(step, train__loss=3 / step, valid__loss=4 / step, valid__accuracy=step / 20))
        assert drawn(figure(client, run_id)) == stored_curves(client, run_id)
    assert len(stored_curves(client, run_id)["valid.loss"]) == 3
    finished(db, lease)
    shown = figure(client, run_id)
    assert drawn(shown) == stored_curves(client, run_id)
    assert run_id in shown["layout"]["title"]["text"]
    assert {axis["title"]["text"] for name, axis in shown["layout"].items() if name.startswith("yaxis")} == {
        "loss (nats)",
        "accuracy",
    }
    assert shown["layout"]["xaxis"]["title"]["text"] == "step"


@SQLITE
def test_curves_of_a_failed_run_are_its_measurements(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    recorded(db, lease, measured(5))
    failed(db, lease)
    assert drawn(figure(client, run_id)) == {"valid.accuracy": [[5, 0.05]]}


@SQLITE
def test_long_curves_are_thinned(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    recorded(db, claimed(db).lease, *(measured(step, valid__loss=1 / (step + 1)) for step in range(2 * MAX_POINTS)))
    points = drawn(figure(client, run_id))["valid.loss"]
    assert len(points) <= MAX_POINTS
    assert (points[0], points[-1][0]) == ([0, 1.0], 2 * MAX_POINTS - 1)


@SQLITE
def test_the_curves_of_an_analysis_say_what_they_go_over(client: TestClient, db: Database) -> None:
    answer = client.post("/v1/experiments", json={"task": {"name": "gradient_flow"}, "norm": {"method": "none"}})
    run_id = answer.json()["runs"][0]["id"]
    recorded(db, claimed(db).lease, measured(3, gain=0.5))
    over = client.get(f"/v1/runs/{run_id}/measurements").json()["x"]
    assert over != "step"
    assert figure(client, run_id)["layout"]["xaxis"]["title"]["text"] == over


def with_matrix(client: TestClient, db: Database, settings: Settings) -> str:
    """The id of a run that has succeeded with a figure."""
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    store = Artifacts(settings.artifacts_url)
    store.write(run_id, 1, "figures/matrix.json", json.dumps(MATRIX).encode())
    store.write(run_id, 1, "figures/curves.json", json.dumps(MATRIX).encode())
    store.write(run_id, 1, "model.pt", b"model")
    missing = client.get(f"/v1/runs/{run_id}/figures/matrix")
    assert is_problem(missing, 404), "not before it has succeeded"
    assert missing.json()["detail"].endswith("it has curves")
    finished(db, lease)
    return run_id


def test_a_figure_that_the_task_made_is_shown_once_its_attempt_has_succeeded(
    client: TestClient, db: Database, settings: Settings
) -> None:
    shown = figure(client, with_matrix(client, db, settings), "matrix")
    assert shown["data"] == MATRIX["data"]
    assert shown["layout"]["title"] == {"text": "here"}


@SQLITE
def test_a_figure_of_another_attempt_is_not_shown(client: TestClient, db: Database, settings: Settings) -> None:
    run_id = submitted(db).runs[0].id
    first = claimed(db).lease
    Artifacts(settings.artifacts_url).write(run_id, 1, "figures/matrix.json", json.dumps(MATRIX).encode())
    with db.transaction() as session:
        lifecycle.release(session, first, "handed over")
    finished(db, claimed(db).lease)
    for name in ("matrix", "1.matrix", "1.figures/matrix"):
        assert is_problem(client.get(f"/v1/runs/{run_id}/figures/{name}"), 404)


@SQLITE
@pytest.mark.parametrize("name", ["curves", "matrix"])
def test_a_figure_has_the_colours_that_are_asked_for(
    client: TestClient, db: Database, settings: Settings, name: str
) -> None:
    run_id = with_matrix(client, db, settings)
    for theme, colours in THEMES.items():
        layout = figure(client, run_id, name, theme=theme)["layout"]
        assert (layout["paper_bgcolor"], layout["font"]["color"]) == (colours["ground"], colours["text"])
    assert figure(client, run_id, name) == figure(client, run_id, name, theme="light")
    assert figure(client, run_id, name)["data"] == figure(client, run_id, name, theme="dark")["data"]


@SQLITE
def test_an_unknown_figure_is_refused_with_the_known_names(
    client: TestClient, db: Database, settings: Settings
) -> None:
    run_id = with_matrix(client, db, settings)
    for name in ("martix", "model.pt", "curves.json", "..%2Fmodel", "a%0a"):
        answer = client.get(f"/v1/runs/{run_id}/figures/{name}")
        assert is_problem(answer, 404), name
    answer = client.get(f"/v1/runs/{run_id}/figures/martix")
    assert "no figure 'martix'; it has curves, matrix" in answer.json()["detail"]
    assert is_problem(client.get("/v1/runs/run_nope/figures/curves"), 404)


@SQLITE
def test_an_unknown_theme_is_refused(client: TestClient, db: Database) -> None:
    answer = client.get(f"/v1/runs/{submitted(db).runs[0].id}/figures/curves", params={"theme": "sepia"})
    assert is_problem(answer, 422)
    assert [error["loc"] for error in answer.json()["errors"]] == [["theme"]]


def of_seeds(client: TestClient, experiment_id: str, **query: str) -> Any:
    answer = client.get(f"/v1/experiments/{experiment_id}/figures/curves", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_experiments_figure_has_a_line_for_each_seed_and_their_mean(client: TestClient, db: Database) -> None:
    experiment = submitted(db, seeds=(0, 1))
    assert drawn(of_seeds(client, experiment.id)) == {"seed 0": [], "seed 1": [], "mean": []}
    for values in ((0.25, 0.5), (0.75,)):
        lease = claimed(db).lease
        begun(db, lease)
        for k, value in enumerate(values, 1):
            recorded(db, lease, measured(5 * k, valid__accuracy=value, valid__loss=1.0))
    shown = of_seeds(client, experiment.id, theme="dark")
    assert drawn(shown) == {"seed 0": [[5, 0.25], [10, 0.5]], "seed 1": [[5, 0.75]], "mean": [[5, 0.5]]}
    known = {"series": "valid.accuracy", "attempt": 1}
    assert [trace["meta"] for trace in shown["data"]] == [
        *({"run": run.id, **known} for run in experiment.runs),
        {"mean": True},
    ]
    assert shown["layout"]["paper_bgcolor"] == THEMES["dark"]["ground"]
    assert shown["layout"]["yaxis"]["title"]["text"] == "validation accuracy"
    target = experiment.spec["training"]["target"]
    assert [shape["y0"] for shape in shown["layout"]["shapes"]] == [target]


@SQLITE
def test_a_line_says_which_attempt_measured_its_end(client: TestClient, db: Database) -> None:
    experiment = submitted(db)
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(5))
    with db.transaction() as session:
        lifecycle.lose(session, lease, "gone", max_attempts=3)
    [line] = of_seeds(client, experiment.id)["data"]
    assert line["meta"]["attempt"] == 1, "the second has measured nothing yet"
    [line] = figure(client, experiment.runs[0].id)["data"]
    assert line["meta"] == {"run": experiment.runs[0].id, "series": "valid.accuracy", "attempt": 1}


@SQLITE
def test_the_first_of_many_seeds_are_drawn_and_the_mean_has_all(client: TestClient, db: Database) -> None:
    experiment = submitted(db, seeds=range(MAX_SEEDS + 1))
    for k in range(MAX_SEEDS + 1):
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, measured(5, valid__accuracy=1.0 if k == MAX_SEEDS else 0.0))
    lines = drawn(of_seeds(client, experiment.id))
    assert len(lines) == MAX_SEEDS + 1
    assert lines["mean"] == [[5, float(f"{1 / (MAX_SEEDS + 1):.5g}")]]


@SQLITE
def test_an_unknown_figure_and_curves_of_an_analysis_are_not_found(client: TestClient, db: Database) -> None:
    experiment = submitted(db)
    answer = client.get(f"/v1/experiments/{experiment.id}/figures/attention")
    assert is_problem(answer, 404)
    assert answer.json()["detail"].endswith("it has curves")
    analysis = submitted_analysis(db, {"task": {"name": "invariances", "profile": "smoke"}})
    answer = client.get(f"/v1/experiments/{analysis.id}/figures/curves")
    assert is_problem(answer, 404)
    assert "/v1/runs" in answer.json()["detail"]


@SQLITE
def test_a_diverged_seed_is_marked_on_its_curves_and_on_the_experiments(client: TestClient, db: Database) -> None:
    stored = submitted(db, seeds=(0, 1))
    fates: list[tuple[Outcome, tuple[int, ...]]] = [("diverged", (5,)), ("completed", (5, 10))]
    for outcome, steps in fates:
        lease = claimed(db).lease
        recorded(db, lease, *(measured(step) for step in steps))
        finished(db, lease, outcome, value=None if outcome == "diverged" else 0.5)
    seeds = client.get(f"/v1/experiments/{stored.id}/figures/curves").json()
    marks = [trace for trace in seeds["data"] if "diverged" in trace.get("meta", {})]
    assert [(mark["x"], mark["meta"]["diverged"]) for mark in marks] == [([5], stored.runs[0].id)]
    first, second = (figure(client, run.id)["layout"] for run in stored.runs)
    assert first["annotations"][0]["text"] == "diverged"
    assert "annotations" not in second
