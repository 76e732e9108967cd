"""Sweeps over HTTP: a plan first, then all or nothing, and one thing to look at, to cancel and to retry."""

from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from service.db import Database
from service.experiments.tables import Experiment
from service.settings import Settings
from tests.service.http_calls import ids, is_problem
from tests.service.sample_runs import submitted
from tests.service.sweeps.sample_sweeps import LR, METHODS, SPEC, posted, run_all

YAML = """
spec:
  task: {name: permuted_digits, profile: smoke}
  seeds: [0, 1]
grid:
  norm.method: [none, layer_norm]
"""
SEEDS = {**SPEC, "seeds": [0, 1]}


def post(client: TestClient, body: Any, key: str | None = None, **parameters: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/v1/sweeps", json=body, params=parameters, headers=headers)


def test_a_sweep_is_answered_with_its_cells_and_found_at_its_address(client: TestClient) -> None:
    answer = client.post("/v1/sweeps", content=YAML)
    assert answer.status_code == 201, answer.text
    sweep = answer.json()
    assert answer.headers["location"] == f"/v1/sweeps/{sweep['id']}"
    assert sweep["id"].startswith("swp_")
    assert (sweep["state"], sweep["n_experiments"], sweep["n_runs"], sweep["reused_runs"]) == ("queued", 2, 4, 0)
    assert sweep["progress"] == {"done": 0, "total": 4, "eta_seconds": None}
    assert [cell["values"] for cell in sweep["cells"]] == [{"norm.method": "none"}, {"norm.method": "layer_norm"}]
    assert (sweep["best"], sweep["budget_curve"], sweep["budget_flips"]) == (None, {}, [])
    assert (sweep["spec"], sweep["grid"], sweep["reuse"], sweep["adaptive"]) == (SEEDS, METHODS, True, False)
    assert client.get(f"/v1/sweeps/{sweep['id']}").json() == sweep


def test_experiments_of_a_sweep_name_it_and_can_be_listed(client: TestClient) -> None:
    other = client.post("/v1/experiments", json=SPEC).json()
    assert other["sweep_id"] is None
    sweep = post(client, posted()).json()
    own = [cell["experiment_id"] for cell in sweep["cells"]]
    assert ids(client, sweep=sweep["id"]) == own[::-1]
    assert ids(client, sweep=sweep["id"], method="none") == own[:1]
    assert ids(client, sweep="swp_nope") == []
    assert client.get(f"/v1/experiments/{own[0]}").json()["sweep_id"] == sweep["id"]


def test_a_finished_sweep_shows_entries_the_best_cell_and_the_budget_curve(client: TestClient, db: Database) -> None:
    sweep = post(client, posted({**METHODS, LR: [1e-3, 1e-2]})).json()
    run_all(db, lambda spec, seed: spec["training"]["optimizer"]["lr"] * 50)
    found = client.get(f"/v1/sweeps/{sweep['id']}").json()
    assert (found["state"], found["progress"]) == ("succeeded", {"done": 4, "total": 4, "eta_seconds": None})
    assert [cell["entry"]["value"]["mean"] for cell in found["cells"]] == [0.05, 0.5, 0.05, 0.5]
    assert found["best"] == found["cells"][1]
    assert found["budget_curve"]["none"] == [[1, pytest.approx(0.3), 0.1, 0.5], [2, 0.5, 0.5, 0.5]]
    assert found["budget_flips"] == []


def test_a_dry_run_counts_and_stores_nothing(client: TestClient, db: Database) -> None:
    submitted(db, "none", seeds=[0])
    run_all(db, lambda spec, seed: 0.5)
    answer = post(client, posted(spec=SEEDS), dry_run=True)
    assert answer.status_code == 200, answer.text
    plan = answer.json()
    assert (plan["n_experiments"], plan["n_runs"], plan["most_runs"], plan["reused_runs"]) == (2, 4, 4, 1)
    assert [cell["seeds"] for cell in plan["cells"]] == [[1], [0, 1]]
    assert [cell["seconds_per_run"] for cell in plan["cells"]] == [4.85, None], "the run told of no step"
    assert plan["total_seconds"] is None
    assert plan["basis"] == "measured: 1 run of this spec on cpu"
    assert plan["queue_position"] == 1
    assert client.get("/v1/sweeps").json()["items"] == []


def test_a_plan_counts_measured_runs_and_estimates_the_rest(client: TestClient, db: Database) -> None:
    for method in ("none", "layer_norm"):
        submitted(db, method, seeds=[0])
    run_all(db, lambda spec, seed: 0.5)
    plan = post(client, posted(spec={**SPEC, "seeds": [0, 1, 2]}), dry_run=True).json()
    assert (plan["reused_runs"], plan["total_seconds"]) == (2, 19.4), "4.85 seconds for each of four runs"


def test_a_dry_run_of_an_adaptive_sweep_says_how_many_runs_it_may_come_to(client: TestClient) -> None:
    plan = post(client, posted(adaptive=True), dry_run=True).json()
    assert (plan["n_runs"], plan["most_runs"]) == (6, 40)


@pytest.mark.parametrize("dry_run", [False, True])
def test_bad_input_is_a_problem_that_names_the_field_and_stores_nothing(client: TestClient, dry_run: bool) -> None:
    answer = post(client, posted({"norm.method": ["none", "layer_norm"], "norm.eps": [1e-5]}), dry_run=dry_run)
    assert is_problem(answer, 422)
    [error] = answer.json()["errors"]
    assert error["loc"] == ["grid", "norm.eps"]
    assert 'norm.method="none"' in error["msg"]
    assert client.get("/v1/sweeps").json()["items"] == []
    assert ids(client) == []


def test_kernels_that_no_worker_has_are_refused_by_name(client: TestClient) -> None:
    answer = post(client, posted({"training.kernel": ["reference", "fused"]}))
    assert is_problem(answer, 422)
    [error] = answer.json()["errors"]
    assert (error["loc"], error["type"]) == (["grid", "training.kernel"], "kernel_unavailable")
    assert 'training.kernel="fused"' in error["msg"]
    assert ids(client) == []


def test_the_same_key_and_body_finds_the_same_sweep(client: TestClient) -> None:
    first = post(client, posted(), "k")
    again = post(client, posted(), "k")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert is_problem(post(client, posted(sampler_seed=1), "k"), 409)
    assert len(client.get("/v1/sweeps").json()["items"]) == 1


def test_a_dry_run_with_the_key_of_a_sweep_is_planned(client: TestClient) -> None:
    post(client, posted(), "k")
    answer = post(client, posted(), "k", dry_run=True)
    assert (answer.status_code, "queue_position" in answer.json()) == (200, True)


def test_the_same_key_finds_the_sweep_after_its_data_is_gone(client: TestClient, settings: Settings) -> None:
    text = settings.datasets_dir / "own/corpus.txt"
    text.parent.mkdir(parents=True)
    text.write_text("to be or not to be\n" * 2000)
    spec = {"task": {"name": "char_lm", "profile": "smoke", "corpus": "file", "file": "own/corpus.txt"}}
    body = posted({"training.optimizer.lr": [0.001, 0.002]}, spec=spec)
    first = post(client, body, "k")
    assert first.status_code == 201, first.text
    text.unlink()
    again = post(client, body, "k")
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert is_problem(post(client, body), 422)
    assert is_problem(post(client, {**body, "sampler_seed": 1}, "k"), 409)


@pytest.mark.parametrize("path", ["/v1/experiments", "/v1/sweeps"])
def test_a_body_without_a_digest_is_refused_beside_a_key_as_without(client: TestClient, path: str) -> None:
    body = "task: {name: permuted_digits}\nlabels: {1: a, b: c}\n"
    headers = {"Content-Type": "application/yaml"}
    answers = [client.post(path, content=body, headers=headers | key) for key in ({}, {"Idempotency-Key": "k"})]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert answers[0].json()["errors"] == answers[1].json()["errors"]


def test_a_sweep_is_cancelled_and_retried(client: TestClient) -> None:
    sweep = post(client, posted(spec=SEEDS)).json()
    cancelled = client.post(f"/v1/sweeps/{sweep['id']}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    assert cancelled.json()["progress"]["done"] == 4
    retried = client.post(f"/v1/sweeps/{sweep['id']}/retry")
    assert (retried.status_code, retried.json()["state"]) == (202, "queued")
    experiment = client.get(f"/v1/experiments/{sweep['cells'][0]['experiment_id']}").json()
    assert [run["attempt"] for run in experiment["runs"]] == [2, 2]


def test_lists_come_in_pages(client: TestClient) -> None:
    sweeps = [post(client, posted(sampler_seed=k)).json()["id"] for k in range(3)]
    page = client.get("/v1/sweeps", params={"limit": 2}).json()
    assert [item["id"] for item in page["items"]] == sweeps[:0:-1]
    rest = client.get("/v1/sweeps", params={"cursor": page["next_cursor"]}).json()
    assert ([item["id"] for item in rest["items"]], rest["next_cursor"]) == (sweeps[:1], None)
    assert "cells" not in page["items"][0]


@pytest.mark.parametrize("call", ["GET /v1/sweeps/{}", "POST /v1/sweeps/{}/cancel", "POST /v1/sweeps/{}/retry"])
def test_an_unknown_sweep_is_not_found(client: TestClient, call: str) -> None:
    method, _, path = call.partition(" ")
    assert is_problem(client.request(method, path.format("swp_nope")), 404)
    answer = client.request(method, path.format("exp_1"))
    assert is_problem(answer, 404)
    assert "see /v1/experiments/exp_1" in answer.json()["detail"]


def test_the_id_of_a_sweep_is_refused_as_an_experiment_with_its_right_address(client: TestClient) -> None:
    answer = client.get("/v1/experiments/swp_1")
    assert is_problem(answer, 404)
    assert "see /v1/sweeps/swp_1" in answer.json()["detail"]


def test_workers_are_notified_of_every_run(client: TestClient, db: Database) -> None:
    post(client, posted(spec=SEEDS))
    folder = client.app.state.settings.data_dir / "broker" / "messages"  # type: ignore[attr-defined]
    client.app.state.notifier.close()  # type: ignore[attr-defined]
    assert len(list(folder.glob("*.msg"))) == 4


def test_a_sweep_is_refused_for_lack_of_memory_while_the_database_is_written(db: Database, client: TestClient) -> None:
    """The check is made before the transaction of the sweep, and ends after as many cells as say what is wrong."""
    spec = {"task": {"name": "char_lm"}, "model": {"hidden_size": 65_536, "num_layers": 64}}
    body = posted({"training.optimizer.lr": [0.001 * k for k in range(1, 201)]}, spec=spec)
    with db.transaction() as session:
        session.execute(update(Experiment).values(idempotency_key=None))  # nobody else can write now
        answer = post(client, body)
    assert is_problem(answer, 422)
    [size, more] = answer.json()["errors"]
    assert "a run needs at least" in size["msg"]
    assert more["msg"] == "too many errors; 150 cells were not checked"
