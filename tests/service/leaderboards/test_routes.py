"""Leaderboards as the API shows them."""

import warnings
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.problem import own_budget, own_problem
from normcore.spec import TASKS
from service.db import Database
from service.experiments import lifecycle
from tests.service.leaderboards.boards import board, ended, measured, result, trained_by
from tests.service.sample_runs import claimed, finished, started, submitted

OF_PROFILE = own_problem("permuted_digits", "smoke")
OWN: Any = {"id": OF_PROFILE.id, "title": "the profile's own", "options": OF_PROFILE.options, "note": None}
BOARD = "/v1/leaderboards/permuted_digits"


def test_entries_are_ranked_by_their_mean_test_metric(client: TestClient, db: Database) -> None:
    none = result(db, "none", [0.70, 0.72], [30, 40])
    norm = result(db, "recurrent_batch_norm", [0.85, 0.87], [10, 20])
    got = board(client)
    assert {name: got[name] for name in got if name != "entries"} == {
        "task": "permuted_digits",
        "profile": "smoke",
        "problem": OWN,
        "problems": [OWN],
        "metric": "accuracy",
        "unit": "",
        "direction": "maximize",
        "target": TASKS["permuted_digits"].profiles["smoke"].training["target"],
        "budget": own_budget("permuted_digits", "smoke"),
        "hardware": "unknown, 1 thread",
        "rank_by": "metric",
        "baseline": "none",
        "as_of": None,
        "set_aside": None,
        "verdict": {
            "claim": "Too few seeds to rank:",
            "detail": "recurrent_batch_norm has 86.00% test accuracy over 2 seeds and the method none has 71.00%"
            " test accuracy over 2 seeds. 3 seeds each are the least that tells anything, 5 are better.",
        },
    }
    first, second = got["entries"]
    assert (first["rank"], first["method"], first["fingerprint"]) == (1, "recurrent_batch_norm", norm)
    assert (second["rank"], second["method"], second["fingerprint"]) == (2, "none", none)
    assert (first["source"], first["budget"], first["over_budget"]) == ("measured", got["budget"], False)
    assert first["values"] == {"accuracy": first["value"]}
    assert (first["n_runs"], first["n_seeds"], first["n_diverged"]) == (2, 2, 0)
    assert first["value"]["mean"] == pytest.approx(0.86)
    low, high = first["value"]["ci95"]
    assert low < 0.85 < 0.87 < high
    assert (first["score"], first["diverged_ci95"]) == (pytest.approx(0.86), [0.0, pytest.approx(0.8419, abs=1e-4)])
    steps, seconds = first["steps_to_target"], first["seconds_to_target"]
    assert (steps["median"], steps["reached"], steps["restricted_mean"]) == (15.0, 2, 15.0)
    assert (seconds["median"], seconds["reached"], seconds["tau"]) == (3.75, 2, 10.0)
    assert {name: first["speedup"][name] for name in ("baseline", "bound")} == {"baseline": "none", "bound": None}
    of_means = (30 * 40 / (10 * 20)) ** 0.5
    assert (first["speedup"]["steps"], first["speedup"]["seconds"]) == pytest.approx((of_means, of_means))
    assert len(first["experiments"]) == 1


def test_a_board_is_sent_without_warnings(client: TestClient, db: Database) -> None:
    result(db, "none", [0.70, 0.72], [30, 40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert board(client)["entries"][0]["values"]["accuracy"]["ci95"]


def test_ties_share_a_rank_and_entries_without_a_value_come_last(client: TestClient, db: Database) -> None:
    result(db, "none", [0.8], [30])
    result(db, "layer_norm", [0.8], [10])
    result(db, "recurrent_batch_norm", [None], [None])
    assert [(e["rank"], e["method"]) for e in board(client)["entries"]] == [
        (1, "layer_norm"),
        (1, "none"),
        (3, "recurrent_batch_norm"),
    ]
    last = board(client)["entries"][-1]
    assert (last["value"], last["n_diverged"], last["steps_to_target"]["reached"]) == (None, 1, 0)


def test_a_board_can_be_ranked_by_the_time_to_the_target(client: TestClient, db: Database) -> None:
    result(db, "none", [0.9, 0.9, 0.9], [30, None, None])
    result(db, "layer_norm", [0.7, 0.7], [20, 10])
    result(db, "recurrent_batch_norm", [0.8, 0.8, 0.8], [25, 5, None])
    for rank_by in ("steps_to_target", "seconds_to_target"):
        got = board(client, rank_by=rank_by)
        assert got["rank_by"] == rank_by
        assert [(e["rank"], e["method"]) for e in got["entries"]] == [
            (1, "layer_norm"),
            (2, "recurrent_batch_norm"),
            (3, "none"),
        ]


def test_speedups_compare_only_entries_of_one_setting(client: TestClient, db: Database) -> None:
    result(db, "none", [0.7], [40])
    result(db, "layer_norm", [0.8], [10])
    wide = {"model": {"hidden_size": 64}}
    result(db, "layer_norm", [0.9], [5], **wide)
    speedups = {(e["method"], bool(e["changes"])): e["speedup"] for e in board(client)["entries"]}
    assert speedups[("layer_norm", False)]["steps"] == pytest.approx(4)
    assert speedups[("layer_norm", True)] is None, "nobody measured the baseline with so many units"
    result(db, "none", [0.7], [20], **wide)
    speedups = {(e["method"], bool(e["changes"])): e["speedup"] for e in board(client)["entries"]}
    assert speedups[("layer_norm", True)]["steps"] == pytest.approx(4)
    assert speedups[("layer_norm", False)]["steps"] == pytest.approx(4)


def test_any_method_can_be_the_baseline(client: TestClient, db: Database) -> None:
    result(db, "none", [0.7], [40])
    result(db, "layer_norm", [0.8], [10])
    result(db, "recurrent_batch_norm", [0.8], [None])
    got = {e["method"]: e["speedup"] for e in board(client, baseline="layer_norm")["entries"]}
    quarter = pytest.approx(0.25)
    assert got["none"] == {"baseline": "layer_norm", "steps": quarter, "seconds": quarter, "ci95": None, "bound": None}
    assert got["recurrent_batch_norm"]["steps"] == quarter, "of 40 updates, at which it was watched last"
    assert (got["recurrent_batch_norm"]["bound"], got["recurrent_batch_norm"]["ci95"]) == ("at most", None)


def test_the_best_of_several_baselines_in_one_setting_counts(client: TestClient, db: Database) -> None:
    for gain, value, steps in ((0.1, 0.8, 40), (1.0, 0.6, 10)):
        experiment = submitted(db, norm={"method": "recurrent_batch_norm", "gain_init": gain})
        ended(db, experiment, {"value": value, "steps_to_target": steps, "seconds_to_target": steps})
    result(db, "none", [0.7], [20])
    got = {e["method"]: e["speedup"] for e in board(client, baseline="recurrent_batch_norm")["entries"]}
    assert got["none"]["steps"] == pytest.approx(2)


def test_a_metric_to_be_minimized_is_ranked_from_below(client: TestClient, db: Database) -> None:
    for method, value in (("none", 3.5), ("layer_norm", 3.1)):
        body = {"task": {"name": "char_lm", "profile": "smoke"}, "norm": {"method": method}}
        measured(db, body, value, "bits_per_char")
    got = board(client, "char_lm")
    assert (got["metric"], got["unit"], got["direction"]) == ("bits_per_char", "bits", "minimize")
    assert [(e["rank"], e["method"]) for e in got["entries"]] == [(1, "layer_norm"), (2, "none")]


def test_tasks_and_profiles_with_entries_are_listed(client: TestClient, db: Database) -> None:
    assert client.get("/v1/leaderboards").json() == {"items": [], "next_cursor": None}
    result(db, "none", [0.7, 0.8], [1, 2])
    result(db, "layer_norm", [0.7], [1])
    submitted(db)
    assert client.get("/v1/leaderboards").json()["items"] == [
        {"task": "permuted_digits", "profile": "smoke", "problem": OWN, "n_entries": 2, "n_runs": 3, "n_claims": 0}
    ]


def test_a_task_without_entries_has_an_empty_board_of_its_default_profile(shared_client: TestClient) -> None:
    got = shared_client.get("/v1/leaderboards/sequential_digits").json()
    assert (got["profile"], got["entries"]) == ("small", [])


def test_an_unknown_task_is_not_found(shared_client: TestClient) -> None:
    answer = shared_client.get("/v1/leaderboards/permuted_digist")
    assert answer.status_code == 404
    assert "permuted_digits" in answer.json()["detail"], "it says what there is"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("baseline", "bach_norm"),
        ("profile", "huge"),
        ("rank_by", "beauty"),
        ("published", "perhaps"),
        ("over_budget", "much"),
    ],
)
def test_a_wrong_parameter_is_named(shared_client: TestClient, name: str, given: str) -> None:
    answer = shared_client.get(BOARD, params={name: given})
    assert answer.status_code == 422
    assert [error["loc"] for error in answer.json()["errors"]] == [[name]]


def test_all_metrics_are_shown_each_with_its_spread_and_interval(client: TestClient, db: Database) -> None:
    experiment = submitted(db, task={"name": "char_lm", "profile": "smoke"}, seeds=[0, 1])
    values = [{"bits_per_char": 3.5, "accuracy": 0.2}, {"bits_per_char": 3.1, "accuracy": 0.4}]
    ended(db, experiment, *({"metric": "bits_per_char", "value": v["bits_per_char"], "values": v} for v in values))
    [entry] = board(client, "char_lm")["entries"]
    assert set(entry["values"]) == {"bits_per_char", "accuracy"}
    assert entry["values"]["bits_per_char"] == entry["value"]
    for name, mean, std in (("bits_per_char", 3.3, 0.08**0.5), ("accuracy", 0.3, 0.02**0.5)):
        got = entry["values"][name]
        half = 21.2049 * std / 2**0.5  # Student's t of one degree of freedom, at 97%
        assert (got["mean"], got["std"]) == pytest.approx((mean, std))
        most = 1.0 if name == "accuracy" else mean + half
        assert got["ci95"] == pytest.approx([max(0.0, mean - half), min(mean + half, most)], rel=1e-4)


def test_a_speedup_in_steps_can_be_a_slowdown_in_seconds(client: TestClient, db: Database) -> None:
    for method, steps, seconds in (("none", 40, 10.0), ("layer_norm", 10, 20.0)):
        ended(db, submitted(db, method), {"value": 0.8, "steps_to_target": steps, "seconds_to_target": seconds})
    got = {e["method"]: e["speedup"] for e in board(client)["entries"]}
    assert (got["layer_norm"]["steps"], got["layer_norm"]["seconds"]) == pytest.approx((4, 0.5))


def test_a_speedup_in_seconds_compares_only_runs_of_one_kernel(client: TestClient, db: Database) -> None:
    took = {("none", "fused"): 12.0, ("layer_norm", "fused"): 4.0, ("rms_norm", "reference"): 4.0}
    for (method, kernel), seconds in took.items():
        trained_by(db, method, kernel, value=0.8, steps_to_target=10, seconds_to_target=seconds)
    got = {entry["method"]: entry["speedup"]["seconds"] for entry in board(client)["entries"]}
    assert got == {"none": 1.0, "layer_norm": pytest.approx(3), "rms_norm": None}


def test_a_speedup_in_seconds_compares_only_runs_on_one_hardware(client: TestClient, db: Database) -> None:
    took = {"none": [("EPYC", 8.0), ("EPYC", 8.0)], "layer_norm": [("EPYC", 4.0), ("EPYC", 4.0), ("Xeon", 0.5)]}
    for method, runs in took.items():
        submitted(db, method, seeds=range(len(runs)))
        for cpu, seconds in runs:
            lease = claimed(db).lease
            with db.transaction() as session:
                begun = replace(started(), environment={"cpu": cpu})
                lifecycle.start(session, lease, begun, device="cpu", resumed_from=None)
            finished(db, lease, value=0.8, steps_to_target=10, seconds_to_target=seconds)
    got = {entry["method"]: entry["speedup"] for entry in board(client)["entries"]}
    assert (got["layer_norm"]["steps"], got["layer_norm"]["seconds"]) == (1.0, pytest.approx(2))


def test_runs_of_several_kernels_have_no_speedup_in_seconds(client: TestClient, db: Database) -> None:
    for method in ("none", "layer_norm"):
        trained_by(db, method, "fused", "reference", value=0.8, steps_to_target=10, seconds_to_target=4.0)
    got = {entry["method"]: entry["speedup"] for entry in board(client)["entries"]}
    assert (got["layer_norm"]["steps"], got["layer_norm"]["seconds"]) == (1.0, None)


def test_a_baseline_whose_seeds_all_diverged_gives_no_speedup(client: TestClient, db: Database) -> None:
    result(db, "none", [None], [None])
    result(db, "layer_norm", [0.8], [10])
    assert [(e["method"], e["speedup"]) for e in board(client)["entries"]] == [("layer_norm", None), ("none", None)]


def test_a_board_has_only_entries_of_its_own_profile(client: TestClient, db: Database) -> None:
    """Profiles whose tasks have the same options have the same problem."""
    result(db, "none", [0.7], [40])
    small = board(client, profile="small")
    assert (small["problem"], small["entries"]) == (OWN, [])
