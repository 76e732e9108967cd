"""Runs and curves over HTTP."""

import pytest
from sqlalchemy import select, text
from starlette.testclient import TestClient

from normcore.events import Divergence
from service.db import Database
from service.experiments import lifecycle
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Run
from tests.service.experiments.lifecycle.verbs import released
from tests.service.http_calls import is_problem
from tests.service.sample_runs import MAX_STEPS, begun, claimed, failed, finished, measured, recorded, submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_running_run_shows_its_progress_and_the_time_that_is_left(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(15))
    run = client.get(f"/v1/runs/{run_id}").json()
    assert (run["state"], run["device"], run["kernel"]) == ("running", "cpu", "reference")
    assert run["progress"] == {"step": 15, "max_steps": MAX_STEPS, "eta_seconds": (MAX_STEPS - 15) / 10, "phase": None}
    assert run["environment"] == {"torch": "2.9"}
    finished(db, lease, "reached_target")
    run = client.get(f"/v1/runs/{run_id}").json()
    assert (run["state"], run["outcome"]) == ("succeeded", "reached_target")
    assert run["progress"]["eta_seconds"] is None
    assert run["result"] == {
        "metric": "accuracy",
        "values": {"accuracy": 0.5},
        "value": 0.5,
        "valid_value": 0.6,
        "no_skill": 0.1,
        "step": 30,
        "steps_to_target": 20,
        "seconds_to_target": 2.0,
        "steps_below_target": None,
        "seconds_below_target": None,
        "train_seconds": 4.0,
        "divergence": None,
    }
    assert run["started_at"] <= run["finished_at"]


def test_a_run_that_diverged_says_what_broke_and_when(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    finished(db, lease, "diverged", value=None, divergence=Divergence("train.loss", 10, {"train.loss": 2.31}))
    assert client.get(f"/v1/runs/{run_id}").json()["result"]["divergence"] == {
        "series": "train.loss",
        "step": 10,
        "last_finite": {"train.loss": 2.31},
    }


def test_a_result_that_is_older_than_divergence_reads_as_null(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    finished(db, lease, "diverged", value=None)
    with db.transaction() as session:
        run = session.get_one(Run, run_id)
        assert run.result is not None
        run.result = {name: value for name, value in run.result.items() if name != "divergence"}
    result = client.get(f"/v1/runs/{run_id}").json()["result"]
    assert result["value"] is None
    assert result["divergence"] is None


def test_a_running_run_says_which_phase_of_an_evaluation_is_going_on(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease

    def shown() -> str | None:
        phase: str | None = client.get(f"/v1/runs/{run_id}").json()["progress"]["phase"]
        return phase

    def evaluating() -> None:
        with db.transaction() as session:
            lifecycle.record(session, lease, [], step=10, seconds=1.0, pace=None, phase="validation")

    begun(db, lease)
    assert shown() is None
    evaluating()
    assert shown() == "validation"
    recorded(db, lease, measured(15))
    assert shown() is None
    evaluating()
    released(db, lease)
    assert shown() is None
    lease = claimed(db).lease
    assert shown() is None, "it was the attempt's before"
    evaluating()
    finished(db, lease)
    assert shown() is None


def test_an_attempt_says_where_it_went_on_from_once_it_has_begun(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id

    def shown() -> tuple[int, int | None]:
        run = client.get(f"/v1/runs/{run_id}").json()
        return run["attempt"], run["resumed_from_step"]

    lease = claimed(db).lease
    begun(db, lease, 10, resumed_from=10)
    assert shown() == (1, 10)
    released(db, lease)
    assert shown() == (2, None), "it waits"
    lease = claimed(db).lease
    assert shown() == (2, None), "it is claimed, and has not begun"
    begun(db, lease)
    assert shown() == (2, None), "it began at the first step"
    released(db, lease)
    begun(db, claimed(db).lease, 20, resumed_from=20)
    assert shown() == (3, 20)


def test_curves_come_by_name_with_unit_and_direction(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    for step in (5, 10):
        recorded(db, lease, measured(step, valid__accuracy=step / 20, valid__loss=3.0, valid__bits_per_char=1.5))
    url = f"/v1/runs/{run_id}/measurements"
    assert client.get(url).json() == {
        "x": "step",
        "series": {
            "valid.accuracy": {
                "unit": "",
                "direction": "maximize",
                "points": [[5, 0.25, 2.5], [10, 0.5, 5.0]],
            },
            "valid.bits_per_char": {
                "unit": "bits",
                "direction": "minimize",
                "points": [[5, 1.5, 2.5], [10, 1.5, 5.0]],
            },
            "valid.loss": {"unit": "nats", "direction": "minimize", "points": [[5, 3.0, 2.5], [10, 3.0, 5.0]]},
        },
    }
    some = client.get(url, params={"series": ["valid.loss", "valid.accuracy", "valid.nothing"]}).json()["series"]
    assert set(some) == {"valid.loss", "valid.accuracy"}, "what a run has not measured yet may still come"


@SQLITE
def test_a_series_that_a_run_has_ended_without_is_refused_by_name(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    recorded(db, lease, measured(5, valid__accuracy=0.2, valid__loss=3.0))
    finished(db, lease)
    url = f"/v1/runs/{run_id}/measurements"
    answer = client.get(url, params={"series": ["valid.loss", "valid.acuracy"]})
    assert is_problem(answer, 422)
    [error] = answer.json()["errors"]
    assert (error["loc"], error["type"]) == (["series"], "unknown_series")
    assert "did you mean 'valid.accuracy'? choose from valid.accuracy, valid.loss" in error["msg"]


@SQLITE
def test_a_run_that_ended_before_it_measured_anything_has_no_curves(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    failed(db, claimed(db).lease)
    answer = client.get(f"/v1/runs/{run_id}/measurements", params={"series": "valid.loss"})
    assert (answer.status_code, answer.json()) == (200, {"x": "step", "series": {}})


def test_a_run_that_measured_nothing_yet_has_no_curves(client: TestClient, db: Database) -> None:
    url = f"/v1/runs/{submitted(db).runs[0].id}/measurements"
    assert client.get(url).json() == {"x": "step", "series": {}}


def test_a_curve_can_be_thinned_without_losing_its_extremes(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    values = [0.5] * 400
    values[123], values[321] = -7.0, 9.0
    recorded(db, lease, *(measured(step, valid__loss=value) for step, value in enumerate(values)))
    answer = client.get(f"/v1/runs/{run_id}/measurements", params={"max_points": 12}).json()
    points = answer["series"]["valid.loss"]["points"]
    assert len(points) <= 12
    assert {0, 123, 321, 399} <= {step for step, *_ in points}


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/exp_nope",
        "/v1/experiments/exp_nope/replay",
        "/v1/runs/run_nope",
        "/v1/runs/run_nope/measurements",
        "/v1/runs/run_nope/events",
        "/v1/runs/run_nope/artifacts",
        "/v1/runs/run_nope/artifacts/model.pt",
        "POST /v1/experiments/exp_nope/cancel",
        "POST /v1/experiments/exp_nope/retry",
    ],
)
def test_an_unknown_id_is_not_found(client: TestClient, path: str) -> None:
    method, _, url = path.rpartition(" ")
    answer = client.request(method or "GET", url)
    assert is_problem(answer, 404)
    assert "_nope" in answer.json()["detail"]


@SQLITE
def test_an_id_of_another_kind_is_refused_with_its_right_address(client: TestClient, db: Database) -> None:
    experiment = submitted(db)
    run_id = experiment.runs[0].id
    for call in ("GET {}", "GET {}/events", "POST {}/cancel", "POST {}/retry"):
        method, _, path = call.format(f"/v1/experiments/{run_id}").partition(" ")
        answer = client.request(method, path)
        assert is_problem(answer, 404)
        assert f"this is a run's id, see /v1/runs/{run_id}" in answer.json()["detail"]
    for path in ("", "/measurements", "/events", "/artifacts", "/artifacts/model.pt"):
        answer = client.get(f"/v1/runs/{experiment.id}{path}")
        assert is_problem(answer, 404)
        expected = f"this is an experiment's id, its runs are in /v1/experiments/{experiment.id}"
        assert expected in answer.json()["detail"]


@SQLITE
def test_the_succeeded_runs_of_a_spec_are_found_without_a_look_at_other_runs(db: Database) -> None:
    of_spec = select(Run.id).join(Experiment).where(Experiment.fingerprint == "a", HAS_SUCCEEDED)
    with db.snapshot() as session:
        statement = of_spec.compile(session.get_bind(), compile_kwargs={"literal_binds": True})
        plan = [str(row[-1]) for row in session.execute(text(f"EXPLAIN QUERY PLAN {statement}"))]
    assert plan == [
        "SEARCH experiments USING INDEX ix_experiments_fingerprint (fingerprint=?)",
        "SEARCH runs USING INDEX ix_runs_experiment_id (experiment_id=?)",
    ]
