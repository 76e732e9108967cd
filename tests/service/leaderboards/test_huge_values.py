"""Pages and answers on values that are finite, but so large that their squares and sums overflow."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.events import Measured
from normcore.spec import digest, resolve
from service.db import Database
from service.experiments import submission
from service.experiments.schemas import ExperimentOut
from tests.service.sample_runs import begun, claimed, finished, recorded

BOARD = "/v1/leaderboards/char_lm?profile=smoke"
LARGEST = 1.7e308


def spec(method: str, **parts: Any) -> dict[str, Any]:
    exploding = {"precision": "float64", "optimizer": {"name": "adam", "lr": 1e180}}
    task = {"name": "char_lm", "profile": "smoke"}
    return {"task": task, "norm": {"method": method}, "training": exploding, **parts}


def trained(db: Database, values: Sequence[float], method: str = "none") -> ExperimentOut:
    """Store an ended experiment of char_lm; each seed has one of these values in training and test."""
    body = spec(method, seeds=list(range(len(values))))
    with db.transaction() as session:
        experiment, _ = submission.submit(session, resolve(body), memory_bytes=None, request_digest=digest(body))
        assert len(experiment.runs) == len(values)
    for value in values:
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, *(Measured(step, step / 2, {"valid.bits_per_char": value}) for step in (10, 20)))
        finished(db, lease, metric="bits_per_char", value=value, valid_value=value, no_skill=None, steps_to_target=None)
    return experiment


def claimed_elsewhere(client: TestClient, values: Sequence[float]) -> str:
    evidence = [{"seed": 100 + seed, "value": value} for seed, value in enumerate(values)]
    body = {**spec("layer_norm"), "values": evidence, "provenance": {"source": "https://example.org/log"}}
    answer = client.post("/v1/results", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def are_finite(content: Any) -> bool:
    """Tell if all numbers of an answer are finite."""
    if isinstance(content, dict):
        return all(map(are_finite, content.values()))
    if isinstance(content, list):
        return all(map(are_finite, content))
    return not isinstance(content, float) or math.isfinite(content)


def answered(client: TestClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.text[-500:])
    return answer.text


HUGE = [[1e180, 1.5e180, 3e180], [1e155, 1e155, 2.1], [LARGEST, LARGEST, 2.1], [LARGEST, -LARGEST, LARGEST]]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("values", HUGE, ids=["1e180", "1e155", "1.7e308", "both signs"])
def test_the_pages_of_huge_measured_values_answer(client: TestClient, db: Database, values: list[float]) -> None:
    experiment = trained(db, values)
    other = trained(db, [2.0, 2.1, 2.2], "layer_norm")
    for rank_by in ("metric", "steps_to_target", "seconds_to_target"):
        assert are_finite(json.loads(answered(client, f"{BOARD}&rank_by={rank_by}")))
        answered(client, f"/boards/char_lm?profile=smoke&rank_by={rank_by}")
    found = json.loads(answered(client, BOARD))
    assert [entry["method"] for entry in found["entries"]] == ["layer_norm", "none"]
    assert all(entry["value"]["ci95"] and entry["value"]["std"] >= 0 for entry in found["entries"])
    assert all(entry["valid_value"] is not None for entry in found["entries"])
    answered(client, f"/experiments/{experiment.id}")
    answered(client, "/experiments")
    fingerprints = f"fingerprint={experiment.fingerprint}&fingerprint={other.fingerprint}"
    assert are_finite(json.loads(answered(client, f"/v1/comparisons?{fingerprints}")))
    answered(client, f"/compare?{fingerprints}")


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("value", [1e155, LARGEST])
@pytest.mark.parametrize("n", [1, 3])
def test_a_huge_claim_is_stored_and_judged(client: TestClient, db: Database, value: float, n: int) -> None:
    found = claimed_elsewhere(client, [value, 0.9 * value, 0.7 * value][:n])
    assert are_finite(json.loads(answered(client, f"/v1/results/{found}"))["value"])
    measured = trained(db, [2.0, 2.1, 2.2], "layer_norm")
    judged = json.loads(answered(client, f"/v1/results/{found}"))
    assert (judged["state"], are_finite(judged)) == ("disputed", True)
    assert judged["fingerprint"] == measured.fingerprint
    assert are_finite(json.loads(answered(client, BOARD)))
    answered(client, "/boards/char_lm?profile=smoke")
    answered(client, "/v1/results")
