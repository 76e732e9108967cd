"""Alive, ready, and measured."""

import platform
from importlib.metadata import version
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from service.app import create_app
from service.db import Database
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.settings import Settings
from tests.servers import free_port
from tests.service.sample_runs import claimed, finished, submitted


def samples(client: TestClient, name: str) -> dict[tuple[str, ...], float]:
    """Values of a metric by its labels' values, in the order of the labels' names."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    return {
        tuple(sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def test_the_service_is_alive_and_ready_on_its_default_broker(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_runs_are_counted_as_they_are_now(client: TestClient, db: Database) -> None:
    none = {(state,): 0 for state in ("queued", "running", "succeeded", "failed", "cancelled")}
    assert samples(client, "normbench_runs") == none
    assert samples(client, "normbench_queue_oldest_seconds") == {(device,): 0 for device in ("auto", "cpu", "cuda")}
    submitted(db, seeds=range(4))
    finished(db, claimed(db).lease)
    claimed(db)
    assert samples(client, "normbench_runs") == {**none, ("queued",): 2, ("running",): 1, ("succeeded",): 1}
    assert samples(client, "normbench_queue_oldest_seconds")[("auto",)] > 0
    assert samples(client, "normbench_build_info") == {(platform.python_version(), version("normbench")): 1}


def test_metrics_have_zeros_for_kinds_of_workers_that_are_absent(client: TestClient, db: Database) -> None:
    none = {(busy, kind): 0 for busy in ("true", "false") for kind in ("cpu", "cuda")}
    assert samples(client, "normbench_workers") == none
    submitted(db)
    claimed(db, worker_id="wrk_0")
    with db.transaction() as session:
        for k in range(4):
            registration.heartbeat(
                session, WorkerIdentity(f"wrk_{k}", "host", k, f"cuda:{k}" if k < 2 else "cpu", ("auto",))
            )
    counts = {("true", "cuda"): 1, ("false", "cuda"): 1, ("false", "cpu"): 2}
    assert samples(client, "normbench_workers") == none | counts


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_requests_are_counted_by_route_and_not_by_address(client: TestClient) -> None:
    for path in ("/v1/runs/run_1", "/v1/runs/run_2", "/healthz", "/nothing/here", "/nothing/there"):
        client.get(path)
    counted = {key: n for key, n in samples(client, "normbench_http_requests_total").items() if "/metrics" not in key}
    assert sum(counted.values()) == 5
    assert {key for key in counted if "run_" in " ".join(key).replace("run_id", "")} == set()
    by_status = {status: sum(n for key, n in counted.items() if status in key) for status in ("200", "404")}
    assert by_status == {"200": 1, "404": 4}
    timed = samples(client, "normbench_http_seconds_count")
    assert sum(n for key, n in timed.items() if "/metrics" not in key) == 5


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_each_route_has_a_name_of_its_own(client: TestClient) -> None:
    client.get("/v1/tasks")
    client.get("/v1/experiments/exp_1")
    routes = {route for key in samples(client, "normbench_http_requests_total") for route in key if "/" in route}
    assert {"/v1/tasks", "/v1/experiments/{experiment_id}"} <= routes


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_store_that_cannot_be_written_to_is_named(client: TestClient, settings: Settings) -> None:
    store = Path(settings.artifacts_url)
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text("no folder")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "1"
    assert "artifact store" in answer.json()["detail"]
    store.unlink()
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_answer_of_readyz_has_no_address_of_the_broker(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    away = settings.model_copy(update={"broker_url": f"redis://ada:lovelace@127.0.0.1:{port}/0"})
    with TestClient(create_app(away, require_keys=True)) as client:
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "the broker does not answer; the log of the API says why"
    assert str(port) not in answer.text
    assert str(port) in caplog.text
    assert "lovelace" not in caplog.text
