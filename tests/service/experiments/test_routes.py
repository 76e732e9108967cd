"""Experiments over HTTP: submitted, cancelled, retried, and refused while the database is away."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from normcore.spec import resolve
from service import db as db_module
from service.app import create_app
from service.db import Database
from service.experiments.tables import Experiment, Run
from service.settings import Settings
from tests.servers import free_port
from tests.service.http_calls import ids, is_problem, post
from tests.service.sample_runs import MAX_STEPS, claimed, failed, finished, recorded, run_of, submitted, written

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_submitted_spec_is_answered_resolved_with_its_queued_runs(client: TestClient, db: Database) -> None:
    body = written("recurrent_batch_norm", seeds=[4, 2], labels={"team": "vision"}, priority=9, device="cpu")
    answer = client.post("/v1/experiments", json=body)
    assert answer.status_code == 201
    experiment = answer.json()
    assert answer.headers["location"] == f"/v1/experiments/{experiment['id']}"
    assert experiment["id"].startswith("exp_")
    assert experiment["spec"] == resolve(body).model_dump(mode="json")
    assert experiment["fingerprint"] == resolve(body).fingerprint()
    assert experiment["state"] == "queued"
    assert [run["seed"] for run in experiment["runs"]] == [4, 2]
    for run in experiment["runs"]:
        assert run == {
            "id": run["id"],
            "experiment_id": experiment["id"],
            "seed": run["seed"],
            "state": "queued",
            "attempt": 1,
            "resumed_from_step": None,
            "of_older_code": False,
            "outcome": None,
            "progress": {"step": 0, "max_steps": MAX_STEPS, "eta_seconds": None, "phase": None},
            "result": None,
            "device": None,
            "kernel": None,
            "environment": None,
            "timing": None,
            "error": None,
            "history": [],
            "created_at": experiment["created_at"],
            "started_at": None,
            "finished_at": None,
        }
        assert run["id"].startswith("run_")
        assert client.get(f"/v1/runs/{run['id']}").json() == run
    assert client.get(answer.headers["location"]).json() == experiment
    assert run_of(db, experiment["runs"][0]["id"]).state == "queued", "it is committed before it is answered"


def test_times_are_iso_8601_in_utc(client: TestClient) -> None:
    created = post(client).json()["created_at"]
    assert created.endswith("Z")
    assert "T" in created


def test_the_resolved_spec_submitted_again_has_the_same_fingerprint(client: TestClient) -> None:
    short = post(client).json()
    full = client.post("/v1/experiments", json={**short["spec"], "seeds": [9], "priority": 1}).json()
    assert full["fingerprint"] == short["fingerprint"]
    assert full["id"] != short["id"]


def test_the_same_key_finds_the_same_experiment(client: TestClient) -> None:
    first, again = post(client, key="a b/c"), post(client, key="a b/c")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.headers["location"] == again.headers["location"]
    assert is_problem(post(client, "none", key="a b/c"), 409)
    assert len(client.get("/v1/experiments").json()["items"]) == 1


def test_the_order_of_fields_does_not_make_another_body(client: TestClient) -> None:
    body = written(labels={"a": "1", "b": "2"})
    backwards = {name: body[name] for name in reversed(body)}
    answers = [client.post("/v1/experiments", json=b, headers={"Idempotency-Key": "k"}) for b in (body, backwards)]
    assert [answer.status_code for answer in answers] == [201, 200]


def test_requests_with_one_new_key_at_the_same_time_make_one_experiment(
    client: TestClient, settings: Settings, db: Database
) -> None:
    with TestClient(create_app(settings, require_keys=False)) as another:  # as two processes of one service
        for round in range(5):
            ready = threading.Barrier(4)

            def send(to: TestClient, ready: threading.Barrier = ready, key: str = f"round-{round}") -> Any:
                ready.wait()
                return post(to, seeds=[0, 1], key=key)

            with ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(send, (client, another) * 2))
            assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
            assert len({answer.json()["id"] for answer in answers}) == 1
    with db.snapshot() as session:
        assert session.scalar(select(func.count()).select_from(Experiment)) == 5
        assert session.scalar(select(func.count()).select_from(Run)) == 10


def test_a_text_file_is_tied_to_its_content(client: TestClient, settings: Settings) -> None:
    settings.datasets_dir.mkdir(parents=True)
    (settings.datasets_dir / "mine.txt").write_text("to be or not to be, that is the question. " * 200)
    task = {"name": "char_lm", "profile": "smoke", "corpus": "file", "file": "mine.txt"}
    first = client.post("/v1/experiments", json={"task": task})
    assert first.status_code == 201, first.text
    assert len(first.json()["spec"]["task"]["sha256"]) == 64
    (settings.datasets_dir / "mine.txt").write_text("to be, to be, ten made to be. " * 300)
    changed = client.post("/v1/experiments", json={"task": task})
    assert changed.json()["fingerprint"] != first.json()["fingerprint"]
    assert is_problem(client.post("/v1/experiments", json={"task": first.json()["spec"]["task"]}), 422)


def test_cancelling_is_accepted_and_shows_what_it_did(client: TestClient, db: Database) -> None:
    id = post(client, seeds=[0, 1]).json()["id"]
    lease = claimed(db).lease
    answer = client.post(f"/v1/experiments/{id}/cancel")
    assert answer.status_code == 202
    assert [run["state"] for run in answer.json()["runs"]] == ["running", "cancelled"]
    assert recorded(db, lease) is True
    assert client.post(f"/v1/experiments/{id}/cancel").status_code == 202


def test_retrying_is_accepted_and_opens_a_new_attempt(client: TestClient, db: Database) -> None:
    id = post(client, seeds=[0, 1]).json()["id"]
    failed(db, claimed(db).lease, "CUDA out of memory")
    finished(db, claimed(db).lease)
    assert client.get(f"/v1/experiments/{id}").json()["runs"][0]["error"] == "CUDA out of memory"
    answer = client.post(f"/v1/experiments/{id}/retry")
    assert answer.status_code == 202
    assert answer.json()["state"] == "running", "from its first run's start to its last one's end"
    assert [(run["state"], run["attempt"], run["error"]) for run in answer.json()["runs"]] == [
        ("queued", 2, None),
        ("succeeded", 1, None),
    ]


def test_the_same_key_finds_the_experiment_after_its_data_is_gone(client: TestClient, settings: Settings) -> None:
    text = settings.datasets_dir / "own/corpus.txt"
    text.parent.mkdir(parents=True)
    text.write_text("to be or not to be\n" * 2000)
    body = {"task": {"name": "char_lm", "profile": "smoke", "corpus": "file", "file": "own/corpus.txt"}}
    key = {"Idempotency-Key": "k"}
    first = client.post("/v1/experiments", json=body, headers=key)
    assert first.status_code == 201, first.text
    text.unlink()
    again = client.post("/v1/experiments", json=body, headers=key)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert client.post("/v1/experiments", json=body).status_code == 422
    assert client.post("/v1/experiments", json={**body, "seeds": [1]}, headers=key).status_code == 409


@SQLITE
def test_a_locked_database_is_said_to_be_unavailable_and_nothing_is_stored(
    settings: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db_module, "SQLITE_BUSY_SECONDS", 0.2)
    with TestClient(create_app(settings, require_keys=False)) as client:
        id = submitted(db).id
        with db.transaction() as session:
            session.connection()  # holds the write lock from now on
            assert is_problem(post(client), 503)
            assert is_problem(client.post(f"/v1/experiments/{id}/cancel"), 503)
            assert ids(client) == [id], "reading goes on meanwhile"
        assert ids(client) == [id]
        assert post(client).status_code == 201


@SQLITE
def test_a_database_that_is_away_is_said_to_be_unavailable(settings: Settings) -> None:
    away = f"postgresql+psycopg://nobody@127.0.0.1:{free_port()}/normbench"
    with TestClient(create_app(settings.model_copy(update={"database_url": away}), require_keys=False)) as client:
        began = time.monotonic()
        assert is_problem(post(client), 503)
        assert is_problem(client.get("/v1/experiments"), 503)
        assert is_problem(client.get("/v1/runs/run_1/events"), 503)
        assert is_problem(client.get("/readyz"), 503)
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/tasks").status_code == 200
        assert time.monotonic() - began < 10
