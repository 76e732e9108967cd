"""A dry run says what an experiment would be and stores nothing."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from normcore.events import Measured
from normcore.footprint import footprint
from normcore.own_code import code_of, digests
from normcore.spec import ExperimentSpec, resolve
from service.db import Database
from service.experiments import lifecycle, validation
from service.experiments.tables import Experiment, Run
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from tests.service.sample_runs import begun, claimed, finished, recorded, result_of, submitted, written


def plan(client: TestClient, *args: Any, **parts: Any) -> Any:
    answer = client.post("/v1/experiments", params={"dry_run": "true"}, json=written(*args, **parts))
    assert answer.status_code == 200, answer.text
    return answer.json()


def trained(
    db: Database,
    seconds: float,
    *,
    device: str = "cpu",
    step: int = 40,
    timing: dict[str, float] | None = None,
    kernel: str = "reference",
) -> None:
    """End the next queued run after so many seconds of training."""
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, Measured(step, seconds, {"valid.loss": 1.0}))
    with db.transaction() as session:
        run = session.get_one(Run, lease.run_id)
        run.device, run.kernel = device, kernel
        lifecycle.finish(session, lease, "completed", result_of(train_seconds=seconds), timing=timing)


def test_a_plan_stores_nothing_and_has_no_estimate_without_measured_runs(client: TestClient, db: Database) -> None:
    body = written("layer_norm", seeds=[3, 4])
    planned = plan(client, "layer_norm", seeds=[3, 4])
    assert planned.pop("code") == {**code_of(resolve(body)), "workers": []}
    needed = footprint(resolve(body))
    assert needed is not None
    assert planned == {
        "name": "layer_norm",
        "spec": resolve(body).model_dump(mode="json"),
        "fingerprint": resolve(body).fingerprint(),
        "runs": 2,
        "measured_seeds": [],
        "seconds_per_run": None,
        "total_seconds": None,
        "total_seconds_range": None,
        "basis": None,
        "queue_position": 1,
        "memory_bytes": needed.on("cpu"),
        "memory": asdict(needed),
        "worker_memory_bytes": None,
        "live_workers": 0,
        "fitting_workers": 0,
    }
    with db.snapshot() as session:
        assert session.scalar(select(func.count()).select_from(Experiment)) == 0
        assert session.scalar(select(func.count()).select_from(Run)) == 0


def test_time_of_a_run_is_estimated_from_runs_by_the_same_kernels(client: TestClient, db: Database) -> None:
    """dynamic_tanh has no fused kernels, so the time of a fused run of another method is none of its own."""
    submitted(db, "layer_norm")
    trained(db, 2.0, kernel="fused")
    assert plan(client, "dynamic_tanh")["seconds_per_run"] is None
    assert plan(client, "rms_norm", training={"kernel": "reference"})["seconds_per_run"] is None
    submitted(db, "weight_norm")
    trained(db, 16.0)
    slow, fast = plan(client, "dynamic_tanh"), plan(client, "rms_norm")
    assert (slow["seconds_per_run"], fast["seconds_per_run"]) == (16.0, 2.0)
    assert slow["basis"].endswith("on cpu, by the reference, by steps")
    assert fast["basis"].endswith("on cpu, by steps")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("task", "model"),
    [
        ({"name": "step_cost", "num_steps": 10_000, "batch_size": 100_000}, {}),
        ({"name": "gradient_flow"}, {"hidden_size": 65536}),
        ({"name": "hidden_dynamics"}, {"hidden_size": 65536}),
        ({"name": "smallest_batch"}, {"hidden_size": 65536}),
    ],
)
def test_plan_of_an_analysis_tells_its_memory(client: TestClient, task: dict[str, Any], model: dict[str, Any]) -> None:
    body = {"task": task, "model": model, "norm": {"method": "none"}}
    answer = client.post("/v1/experiments", params={"dry_run": "true"}, json=body)
    assert answer.status_code == 200, answer.text
    planned, needed = answer.json(), footprint(resolve(body))
    assert needed is not None
    assert planned["memory_bytes"] == needed.on("cpu") > 30e9
    assert planned["memory"] == asdict(needed)


def test_seconds_of_a_run_include_evaluation_data_compiling_and_warm_up(client: TestClient, db: Database) -> None:
    submitted(db)
    trained(db, 2.0, timing={"training": 2.0, "evaluation": 1.0, "data": 0.5, "compile": 0.25, "warm_up": 0.125})
    assert plan(client, seeds=[0])["seconds_per_run"] == 3.875


def test_a_plan_is_estimated_from_measured_runs_of_the_same_spec(client: TestClient, db: Database) -> None:
    submitted(db, seeds=[1, 2, 7])
    for seconds in (2.0, 4.0, 3.0):
        trained(db, seconds)
    submitted(db, seeds=[3])  # queued, and so not measured
    planned = plan(client, seeds=[0, 2, 1, 3])
    assert planned["measured_seeds"] == [1, 2]
    assert (planned["runs"], planned["seconds_per_run"], planned["total_seconds"]) == (4, 3.0, 12.0)
    assert planned["total_seconds_range"] == [8.0, 16.0]
    assert planned["basis"] == "measured: 3 runs of this spec on cpu"


def test_the_same_model_with_another_norm_is_scaled_by_its_steps(client: TestClient, db: Database) -> None:
    submitted(db, "none", seeds=[0])
    trained(db, 4.0)
    planned = plan(client, "layer_norm", training={"max_steps": 80})
    assert planned["measured_seeds"] == []
    assert planned["seconds_per_run"] == 8.0
    assert (
        planned["basis"]
        == "measured: 1 run of permuted_digits, smoke, with this model on cpu, by the reference, by steps"
    )
    assert plan(client, "layer_norm", model={"hidden_size": 17})["basis"] is None, "another model is no basis"


def test_only_runs_on_the_device_that_is_asked_for_count(client: TestClient, db: Database) -> None:
    submitted(db, seeds=[0, 1])
    trained(db, 9.0, device="cpu")
    trained(db, 1.0, device="cuda:1")
    assert plan(client, device="cpu")["seconds_per_run"] == 9.0
    assert plan(client, device="cuda")["basis"] == "measured: 1 run of this spec on cuda"
    assert plan(client, device="auto")["seconds_per_run"] == 1.0, "auto: the kind that ran last"


def test_a_plan_queues_behind_more_urgent_runs(client: TestClient, db: Database) -> None:
    submitted(db, seeds=[0, 1], priority=9)
    submitted(db, seeds=[0], priority=1)
    assert plan(client, priority=5)["queue_position"] == 3
    assert plan(client, priority=0)["queue_position"] == 4


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_plan_is_refused_for_the_same_reasons_as_an_experiment(client: TestClient) -> None:
    for body in ({"task": {"name": "permuted_mnist"}}, written(seeds=[]), written(colour="red")):
        answer = client.post("/v1/experiments?dry_run=true", json=body)
        assert answer.status_code == 422
        assert answer.json()["errors"]


OTHER: dict[str, Any] = {
    "version": "0.1.0",
    "commit": None,
    "dirty": None,
    "parts": {"norm": "a" * 64, "task": "b" * 64},
}


def ended(db: Database, seed: int, code: Mapping[str, Any] | None) -> None:
    submitted(db, "layer_norm", seeds=[seed])
    lease = claimed(db).lease
    begun(db, lease, code=code)
    finished(db, lease)


def test_only_runs_of_the_present_code_count_as_measured(client: TestClient, db: Database) -> None:
    for seed in (0, 1):
        ended(db, seed, None)
    assert plan(client, "layer_norm", seeds=[0, 1, 2])["measured_seeds"] == [0, 1], "no run tells its code"
    ended(db, 2, OTHER)
    assert plan(client, "layer_norm", seeds=[0, 1, 2])["measured_seeds"] == []
    ended(db, 3, code_of(resolve(written("layer_norm"))))
    assert plan(client, "layer_norm", seeds=[0, 1, 2, 3])["measured_seeds"] == [3]


def test_runs_without_digests_of_their_code_count_as_on_their_board(client: TestClient, db: Database) -> None:
    ended(db, 0, None)
    submitted(db, "none", seeds=[0])
    lease = claimed(db).lease
    begun(db, lease, code=OTHER)
    finished(db, lease)
    assert plan(client, "layer_norm", seeds=[0])["measured_seeds"] == [0]
    board = client.get("/v1/leaderboards/permuted_digits", params={"profile": "smoke"}).json()
    assert {entry["method"] for entry in board["entries"]} == {"none", "layer_norm"}
    assert board["set_aside"] is None


def test_workers_with_other_code_are_named_with_the_parts_that_differ(client: TestClient, db: Database) -> None:
    own = digests()
    edited = {**own, "norm": {**own["norm"], "layer_norm": "0" * 64}}
    lacking = {**own, "task": {}}
    with db.transaction() as session:
        for name, code, queues in (
            ("wrk_same", own, ("auto", "cpu")),
            ("wrk_edited", edited, ("auto", "cpu")),
            ("wrk_lacking", lacking, ("auto", "cuda")),
            ("wrk_older", None, ("auto", "cpu")),
            ("wrk_before", edited, ("auto", "cpu")),  # read its code before the API's files were edited
        ):
            at = 0.0 if name == "wrk_before" else time.time()
            worker = WorkerIdentity(name, f"host of {name}", 7, "cpu", queues, code=code, code_at=at)
            registration.register(session, worker)

    def differing(method: str, device: str) -> dict[str, list[str]]:
        told = plan(client, method, device=device)["code"]["workers"]
        return {worker["host"]: worker["parts"] for worker in told}

    assert differing("layer_norm", "auto") == {"host of wrk_edited": ["norm"], "host of wrk_lacking": ["task"]}
    assert differing("layer_norm", "cpu") == {"host of wrk_edited": ["norm"]}
    assert differing("rms_norm", "cpu") == {}


def test_edited_options_are_refused_until_the_service_is_restarted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_edited(spec: ExperimentSpec, looked: object) -> dict[str, str]:
        return {"norm": "normcore/spec/methods/layer_norm.py"} if spec.norm and spec.norm.method == "layer_norm" else {}

    monkeypatch.setattr(validation.loaded_options(), "find_edited", find_edited)
    answer = client.post("/v1/experiments", params={"dry_run": "true"}, json=written("layer_norm"))
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["loc"], "normcore/spec/methods/layer_norm.py was edited" in error["msg"]) == (["norm"], True)
    assert "restart" in error["msg"]
    plan(client, "none")
