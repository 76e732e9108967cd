"""An analysis of a trained model names a run with a model of the right kind; otherwise it is refused and not stored."""

from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from service.db import Database
from service.experiments.tables import Experiment
from tests.service.sample_runs import begun, claimed, failed, finished, submitted

CHAR_LM: dict[str, Any] = {"task": {"name": "char_lm", "profile": "smoke"}}


def analysis(name: str, run_id: str) -> dict[str, Any]:
    return {"task": {"name": name, "run": run_id}}


def complaint(client: TestClient, db: Database, spec: dict[str, Any]) -> str:
    """Message at ``task.run``; nothing is stored."""
    before = count(db)
    answer = client.post("/v1/experiments", json=spec)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert error["loc"] == ["task", "run"]
    assert count(db) == before
    message: str = error["msg"]
    return message


def count(db: Database) -> int | None:
    with db.snapshot() as session:
        return session.scalar(select(func.count()).select_from(Experiment))


def succeeded(db: Database, method: str = "recurrent_batch_norm", value: float | None = 0.5, **parts: Any) -> str:
    submitted(db, method, **parts)
    lease = claimed(db).lease
    finished(db, lease, "completed" if value is not None else "diverged", value=value)
    return lease.run_id


def test_a_run_with_a_model_of_the_right_kind_is_accepted(client: TestClient, db: Database) -> None:
    for task in (
        {"name": "population_statistics", "run": succeeded(db)},
        {"name": "length_generalization", "run": succeeded(db, "layer_norm", **CHAR_LM), "lengths": [100, 500]},
    ):
        answer = client.post("/v1/experiments", json={"task": task})
        assert answer.status_code == 201, answer.text
        assert answer.json()["spec"]["task"]["run"] == task["run"]


def test_segments_longer_than_the_test_text_allows_are_refused(client: TestClient, db: Database) -> None:
    run_id = succeeded(db, "layer_norm", **CHAR_LM)
    said = complaint(client, db, analysis("length_generalization", run_id))
    assert "1,000 characters, less than two segments of 1,000" in said


def test_an_unknown_run_is_refused(client: TestClient, db: Database) -> None:
    spec = analysis("population_statistics", "run_01KAJ3V6BCDEFGHJKMNPQRSTVW")
    assert complaint(client, db, spec) == "there is no such run"


def test_a_run_that_has_not_succeeded_is_refused(client: TestClient, db: Database) -> None:
    queued = submitted(db, "recurrent_batch_norm").runs[0].id
    assert complaint(client, db, analysis("population_statistics", queued)).startswith("that run is queued")
    failed(db, claimed(db).lease)
    assert complaint(client, db, analysis("population_statistics", queued)).startswith("that run is failed")


def test_a_run_that_diverged_at_once_has_no_model(client: TestClient, db: Database) -> None:
    run_id = succeeded(db, value=None)
    assert "diverged before it had a model" in complaint(client, db, analysis("population_statistics", run_id))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("population_statistics", "name a run with recurrent_batch_norm per_step"),
        ("length_generalization", "it was trained on permuted_digits; name a run of char_lm"),
    ],
)
def test_a_model_of_another_kind_is_refused(client: TestClient, db: Database, name: str, said: str) -> None:
    assert said in complaint(client, db, analysis(name, succeeded(db, "layer_norm")))


def test_a_run_whose_spec_cannot_be_read_is_refused(client: TestClient, db: Database) -> None:
    run_id = succeeded(db)
    with db.transaction() as session:
        experiment = session.scalars(select(Experiment)).one()
        experiment.spec = {**experiment.spec, "norm": {"method": "of_a_package_that_is_gone"}}
    assert "is a plug-in of its spec not installed" in complaint(client, db, analysis("population_statistics", run_id))


def test_a_run_of_an_analysis_is_refused_as_it_has_no_model(client: TestClient, db: Database) -> None:
    made = client.post("/v1/experiments", json={"task": {"name": "invariances"}}).json()
    assert "was an analysis" in complaint(client, db, analysis("population_statistics", made["runs"][0]["id"]))


def test_a_run_of_older_code_is_refused(client: TestClient, db: Database) -> None:
    """Otherwise the weights would be analysed by code that did not train them."""
    submitted(db, "recurrent_batch_norm")
    lease = claimed(db).lease
    begun(db, lease, code={"version": "0.1.0", "commit": None, "dirty": None, "parts": {"norm": "a" * 64}})
    finished(db, lease)
    said = complaint(client, db, analysis("population_statistics", lease.run_id))
    assert said.startswith("that run was trained by older code")
