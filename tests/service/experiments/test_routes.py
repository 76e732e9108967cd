"""Experiments, runs, curves and files over HTTP."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import func, select
from starlette.testclient import TestClient

from normcore.spec import resolve
from service import db as db_module
from service.app import create_app
from service.artifacts import Artifacts
from service.db import Database
from service.experiments import lifecycle
from service.experiments.tables import Experiment, Run
from service.settings import Settings
from tests.servers import free_port
from tests.service.given import (
    MAX_STEPS,
    begun,
    claimed,
    failed,
    finished,
    measured,
    recorded,
    run_of,
    submitted,
    written,
)

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def post(client: TestClient, *args: Any, key: str | None = None, **parts: Any) -> Any:
    return client.post("/v1/experiments", json=written(*args, **parts), headers={"Idempotency-Key": key} if key else {})


def is_problem(answer: Any, status: int) -> bool:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return bool(answer.json()["status"] == status)


# -- submit -----------------------------------------------------------------------------------------


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
            "outcome": None,
            "progress": {"step": 0, "max_steps": MAX_STEPS, "eta_seconds": None},
            "result": None,
            "device": None,
            "kernel": None,
            "environment": None,
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


def test_requests_with_one_new_key_at_the_same_time_make_one_experiment(client: TestClient, db: Database) -> None:
    for round in range(5):
        ready = threading.Barrier(4)

        def send(_: int, ready: threading.Barrier = ready, key: str = f"round-{round}") -> Any:
            ready.wait()
            return post(client, seeds=[0, 1], key=key)

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(send, range(4)))
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


# -- lists ------------------------------------------------------------------------------------------


def ids(client: TestClient, **query: Any) -> list[str]:
    answer = client.get("/v1/experiments", params=query)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


def test_a_list_can_be_narrowed_by_every_filter_and_by_several_at_once(client: TestClient) -> None:
    none = post(client, "none", labels={"team": "vision", "day": "1"}).json()
    norm = post(client, "layer_norm", labels={"team": "vision"}).json()
    text = client.post("/v1/experiments", json={"task": {"name": "char_lm", "profile": "small"}}).json()
    n, ln, lm = (e["id"] for e in (none, norm, text))
    assert ids(client) == [lm, ln, n]
    assert ids(client, task="permuted_digits") == [ln, n]
    assert ids(client, profile="small") == [lm]
    assert ids(client, method="none") == [lm, n]
    assert ids(client, fingerprint=norm["fingerprint"]) == [ln]
    assert ids(client, label="team:vision") == [ln, n]
    assert ids(client, label=["team:vision", "day:1"]) == [n]
    assert ids(client, label="team:vis") == []
    assert ids(client, task="permuted_digits", method="layer_norm", label="team:vision", state="queued") == [ln]
    assert ids(client, fingerprint=norm["fingerprint"][:8]) == [ln]
    assert ids(client, fingerprint="0123abcd") == []


@SQLITE
@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("task", "permuted_digist", "'permuted_digits'"),
        ("method", "layer_nrom", "'layer_norm'"),
        ("profile", "smal", "did you mean 'small'?"),
        ("state", "suceeded", "did you mean 'succeeded'?"),
        ("fingerprint", "0123abc", "give 8 to 64 characters out of 0-9 and a-f"),
        ("label", "team", "give key:value, as team:vision"),
        ("cursor", "exp_1", "give `next_cursor` of the page before"),
    ],
)
def test_a_filter_that_nothing_can_match_is_refused_by_name(
    client: TestClient, name: str, given: str, meant: str
) -> None:
    answer = client.get("/v1/experiments", params={name: given})
    assert is_problem(answer, 422)
    [error] = answer.json()["errors"]
    assert error["loc"][0] == name
    assert meant in error["msg"]


def test_a_label_may_hold_a_colon(client: TestClient) -> None:
    made = post(client, labels={"when": "10:30"}).json()
    assert ids(client, label="when:10:30") == [made["id"]]


def pages(client: TestClient, limit: int, between: Callable[[], object] = lambda: None) -> list[str]:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = client.get("/v1/experiments", params={"limit": limit, **({"cursor": cursor} if cursor else {})}).json()
        assert 0 < len(page["items"]) <= limit
        seen += [item["id"] for item in page["items"]]
        assert len(set(seen)) == len(seen), "nothing comes twice"
        cursor = page["next_cursor"]
        if cursor is None:
            return seen
        between()


def test_any_limit_pages_through_everything_once_newest_first(client: TestClient, db: Database) -> None:
    made = [submitted(db).id for _ in range(13)][::-1]

    @hypothesis_settings(deadline=None, max_examples=15)
    @given(limit=st.integers(1, 200))
    def check(limit: int) -> None:
        assert pages(client, limit) == made

    check()


@pytest.mark.parametrize("limit", [1, 3, 12])
def test_experiments_that_arrive_meanwhile_do_not_disturb_the_pages(
    client: TestClient, db: Database, limit: int
) -> None:
    made = [submitted(db).id for _ in range(13)][::-1]
    assert pages(client, limit, between=lambda: submitted(db)) == made


def test_an_empty_list_has_one_empty_page(client: TestClient) -> None:
    assert client.get("/v1/experiments").json() == {"items": [], "next_cursor": None}


def test_a_list_shows_fifty_unless_told(client: TestClient, db: Database) -> None:
    for _ in range(51):
        submitted(db)
    page = client.get("/v1/experiments").json()
    assert len(page["items"]) == 50
    assert page["next_cursor"]


def test_the_state_filter_agrees_with_the_state_that_is_shown(client: TestClient, db: Database) -> None:
    @hypothesis_settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(
        runs=st.lists(
            st.sampled_from(["new", "queued", "running", "succeeded", "failed", "cancelled", "never began"]),
            min_size=1,
            max_size=4,
        )
    )
    def check(runs: list[str]) -> None:
        experiment = submitted(db, seeds=range(len(runs)))
        with db.transaction() as session:
            for run, kind in zip(experiment.runs, runs, strict=True):
                row = session.get_one(Run, run.id)
                row.state = {"new": "queued", "never began": "cancelled"}.get(kind, kind)
                row.started_at = None if kind in ("new", "never began") else experiment.created_at
        shown = client.get(f"/v1/experiments/{experiment.id}").json()["state"]
        waiting = {"new", "queued", "running"} & set(runs)
        if waiting:
            expected = "queued" if set(runs) <= {"new", "never began"} else "running"
        elif "failed" in runs:
            expected = "failed"
        else:
            expected = "cancelled" if {"cancelled", "never began"} & set(runs) else "succeeded"
        assert shown == expected
        for state in ("queued", "running", "succeeded", "failed", "cancelled"):
            page = client.get("/v1/experiments", params={"state": state, "limit": 1}).json()["items"]
            found = bool(page) and page[0]["id"] == experiment.id
            assert found == (state == expected)
            assert all(item["state"] == state for item in page)

    check()


def test_a_list_counts_the_runs_by_state(client: TestClient, db: Database) -> None:
    submitted(db, seeds=[0, 1, 2])
    failed(db, claimed(db).lease)
    (item,) = client.get("/v1/experiments").json()["items"]
    assert item["runs_by_state"] == {"failed": 1, "queued": 2}
    assert item["state"] == "running"


# -- cancel and retry -------------------------------------------------------------------------------


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
    assert [(run["state"], run["attempt"], run["error"]) for run in answer.json()["runs"]] == [
        ("queued", 2, None),
        ("succeeded", 1, None),
    ]


# -- runs and curves --------------------------------------------------------------------------------


def test_a_running_run_shows_its_progress_and_the_time_that_is_left(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(15))
    run = client.get(f"/v1/runs/{run_id}").json()
    assert (run["state"], run["device"], run["kernel"]) == ("running", "cpu", "reference")
    assert run["progress"] == {"step": 15, "max_steps": MAX_STEPS, "eta_seconds": (MAX_STEPS - 15) / 10}
    assert run["environment"] == {"torch": "2.9"}
    finished(db, lease, "reached_target")
    run = client.get(f"/v1/runs/{run_id}").json()
    assert (run["state"], run["outcome"]) == ("succeeded", "reached_target")
    assert run["progress"]["eta_seconds"] is None
    assert run["result"] == {
        "metric": "accuracy",
        "value": 0.5,
        "valid_value": 0.6,
        "step": 30,
        "steps_to_target": 20,
        "seconds_to_target": 2.0,
        "train_seconds": 4.0,
    }
    assert run["started_at"] <= run["finished_at"]


def test_curves_come_by_name_with_unit_and_direction(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    for step in (5, 10):
        recorded(db, lease, measured(step, valid__accuracy=step / 20, valid__loss=3.0, valid__bits_per_char=1.5))
    url = f"/v1/runs/{run_id}/measurements"
    assert client.get(url).json() == {
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
        }
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
    assert (answer.status_code, answer.json()) == (200, {"series": {}})


def test_a_run_that_measured_nothing_yet_has_no_curves(client: TestClient, db: Database) -> None:
    assert client.get(f"/v1/runs/{submitted(db).runs[0].id}/measurements").json() == {"series": {}}


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
        "/v1/runs/run_nope",
        "/v1/runs/run_nope/measurements",
        "/v1/runs/run_nope/events",
        "/v1/runs/run_nope/artifacts",
        "/v1/runs/run_nope/artifacts/model.pt",
        "POST /v1/experiments/exp_nope/cancel",
        "POST /v1/experiments/exp_nope/retry",
    ],
)
def test_what_does_not_exist_is_not_found(client: TestClient, path: str) -> None:
    method, _, url = path.rpartition(" ")
    answer = client.request(method or "GET", url)
    assert is_problem(answer, 404)
    assert "_nope" in answer.json()["detail"]


@SQLITE
def test_an_id_of_the_other_kind_is_told_where_it_belongs(client: TestClient, db: Database) -> None:
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


# -- artifacts --------------------------------------------------------------------------------------


def test_files_of_a_run_are_listed_and_downloaded(client: TestClient, db: Database, settings: Settings) -> None:
    run_id = submitted(db).runs[0].id
    url = f"/v1/runs/{run_id}/artifacts"
    assert client.get(url).json() == {"items": [], "next_cursor": None}
    store = Artifacts(settings.artifacts_url)
    model = bytes(range(256)) * 10_000
    store.write(run_id, 1, "model.pt", model)
    store.write(run_id, 1, "environment.json", b'{"torch": "2.9"}')
    finished(db, claimed(db).lease)
    assert client.get(url).json()["items"] == [
        {"name": "environment.json", "size": 16, "url": f"{url}/environment.json"},
        {"name": "model.pt", "size": 2_560_000, "url": f"{url}/model.pt"},
    ]
    answer = client.get(f"{url}/model.pt")
    assert answer.content == model
    assert answer.headers["content-type"] == "application/octet-stream"
    assert 'filename="model.pt"' in answer.headers["content-disposition"]
    answer = client.get(f"{url}/environment.json")
    assert answer.json() == {"torch": "2.9"}
    assert answer.headers["content-type"] == "application/json"
    assert is_problem(client.get(f"{url}/other.pt"), 404)


@SQLITE
def test_a_model_is_shown_once_its_attempt_has_succeeded(client: TestClient, db: Database, settings: Settings) -> None:
    run_id = submitted(db).runs[0].id
    url, store = f"/v1/runs/{run_id}/artifacts", Artifacts(settings.artifacts_url)

    def seen() -> list[str]:
        return [item["name"] for item in client.get(url).json()["items"]]

    first = claimed(db).lease
    for name in ("log.txt", "model.pt"):
        store.write(run_id, 1, name, b"of the first attempt")
    assert seen() == ["log.txt"]
    assert is_problem(client.get(f"{url}/model.pt"), 404)
    with db.transaction() as session:
        lifecycle.release(session, first, "its worker stopped")
    second = claimed(db).lease
    store.write(run_id, 2, "model.pt", b"of the second attempt")
    assert seen() == ["1.log.txt"]
    finished(db, second)
    assert seen() == ["1.log.txt", "model.pt"]
    assert client.get(f"{url}/model.pt").content == b"of the second attempt"


@SQLITE
@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-9", 0, 9), ("bytes=90-", 90, 99), ("bytes=-5", 95, 99), ("bytes=95-200", 95, 99), ("bytes=-200", 0, 99)],
)
def test_a_part_of_a_file_can_be_asked_for(
    client: TestClient, db: Database, settings: Settings, asked: str, first: int, last: int
) -> None:
    url = stored_file(db, settings, bytes(range(100)))
    answer = client.get(url, headers={"Range": asked})
    assert answer.status_code == 206
    assert answer.content == bytes(range(first, last + 1))
    assert answer.headers["content-range"] == f"bytes {first}-{last}/100"
    assert answer.headers["content-length"] == str(last - first + 1)


@SQLITE
@pytest.mark.parametrize("asked", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_a_part_beyond_the_end_is_refused(client: TestClient, db: Database, settings: Settings, asked: str) -> None:
    answer = client.get(stored_file(db, settings, bytes(100)), headers={"Range": asked})
    assert is_problem(answer, 416)
    assert answer.headers["content-range"] == "bytes */100"


@SQLITE
@pytest.mark.parametrize("asked", ["bytes=5-1", "bytes=0-1,5-6", "lines=1-2", "bytes=-", "nonsense"])
def test_a_range_that_says_nothing_sends_the_whole_file(
    client: TestClient, db: Database, settings: Settings, asked: str
) -> None:
    answer = client.get(stored_file(db, settings, bytes(100)), headers={"Range": asked})
    assert (answer.status_code, answer.content) == (200, bytes(100))


@SQLITE
def test_a_download_goes_on_only_where_the_file_is_still_the_same(
    client: TestClient, db: Database, settings: Settings
) -> None:
    url = stored_file(db, settings, bytes(100))
    etag = client.get(url).headers["etag"]
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
    rest = {"Range": "bytes=50-", "If-Range": etag}
    assert client.get(url, headers=rest).status_code == 206
    Artifacts(settings.artifacts_url).write(url.split("/")[3], 1, "weights.bin", bytes(range(100)))
    answer = client.get(url, headers=rest)
    assert (answer.status_code, answer.content) == (200, bytes(range(100)))
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 200


def stored_file(db: Database, settings: Settings, content: bytes) -> str:
    """The address of a file of a new run."""
    run_id = submitted(db).runs[0].id
    Artifacts(settings.artifacts_url).write(run_id, 1, "weights.bin", content)
    return f"/v1/runs/{run_id}/artifacts/weights.bin"


@SQLITE
@pytest.mark.parametrize(
    "name",
    [
        "%2e%2e",
        "..%2f..%2fsecret",
        "%2Fetc%2Fpasswd",
        ".hidden",
        "a%0a",
        "a%00",
        "a%20b",
        "a" * 200,
        "%5c..",
        "*",
    ],
)
def test_no_name_leads_out_of_a_runs_files(client: TestClient, db: Database, settings: Settings, name: str) -> None:
    run_id = submitted(db).runs[0].id
    root = Path(settings.artifacts_url)
    Artifacts(settings.artifacts_url).write(run_id, 1, "model.pt", b"model")
    (root / "secret").write_bytes(b"secret")
    (root / run_id / ".hidden").write_bytes(b"secret")
    answer = client.get(f"/v1/runs/{run_id}/artifacts/{name}")
    assert answer.status_code in (400, 404)
    assert b"secret" not in answer.content.replace(b"2fsecret", b"").replace(b"/secret", b"")
    assert answer.headers["content-type"] == "application/problem+json"


# -- the database is busy or away -------------------------------------------------------------------


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
