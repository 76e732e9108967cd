"""An exported comparison has the same values as the JSON answer."""

import csv
import io
import json

import pytest
from starlette.testclient import TestClient

from service.comparisons.columns import FILE_EXAMPLE
from service.db import Database
from tests.service.comparisons.test_routes import compared, trained

P_VALUES = ("p_value", "p_holm")


def test_a_comparison_has_a_row_for_each_entry(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [0.70, 0.72, 0.71, 0.73, 0.74], [20, 22, 24, 26, 28])
    tuned = {"optimizer": {"lr": 0.004}}
    norm = trained(db, "layer_norm", [0.80, 0.83, 0.81, 0.84, 0.82], [10, 12, 11, 13, 14], training=tuned)
    answer = client.get("/v1/comparisons", params={"fingerprint": [none, norm], "format": "csv"})
    assert answer.headers["content-disposition"] == 'attachment; filename="comparison-permuted_digits-smoke.csv"'
    baseline, own = csv.DictReader(io.StringIO(answer.text, newline=""))
    _, entry = compared(client, none, norm)["entries"]
    assert (baseline["fingerprint"], own["fingerprint"]) == (none, norm)
    assert (baseline["name"], own["name"]) == ("none", entry["name"]) == ("none", "layer_norm (lr 0.004)")
    assert {row["baseline"] for row in (baseline, own)} == {none}
    assert (baseline["difference.mean"], baseline["speedup.steps.ratio"]) == ("", "")
    difference, split = entry["difference"], entry["speedup"]
    assert float(own["difference.mean"]) == difference["mean"]
    assert [float(own[f"difference.ci95.{side}"]) for side in ("low", "high")] == difference["ci95"]
    assert float(own["difference.p_value"]) == difference["p_value"]
    assert float(own["difference.p_holm"]) == difference["p_holm"]
    assert float(own["score"]) == entry["score"]
    assert (own["outcome"], baseline["outcome"]) == (entry["outcome"], "") == ("better", "")
    assert [own[name] for name in ("n_diverged", "over_budget", "rank", "tie_group")] == ["0", "false", "1", "1"]
    assert [baseline[f"rank_ci.{side}"] for side in ("low", "high")] == ["2", "2"]
    assert int(own["budget"]) == entry["budget"]
    assert json.loads(own["above"]) == entry["above"] == {none: difference["p_holm"]}
    assert json.loads(own["difference.seeds"]) == difference["seeds"] == json.loads(own["seeds"])
    assert json.loads(own["runs"]) == [run["run_id"] for run in entry["runs"]]
    for part in ("steps", "seconds_per_step", "total"):
        assert float(own[f"speedup.{part}.ratio"]) == split[part]["ratio"]
    assert float(own["speedup.steps.ci95.high"]) == split["steps"]["ci95"][1]
    assert float(own["speedup.to_baselines_best.fraction"]) == split["to_baselines_best"]["fraction"]
    assert int(own["speedup.own_best.n"]) == split["own_best"]["n"]
    assert float(own["value.mean"]) == entry["value"]["mean"]
    assert set(next(csv.reader([FILE_EXAMPLE.splitlines()[0]]))) <= set(own)


def test_a_file_has_both_p_values_of_a_pair(client: TestClient, db: Database) -> None:
    """Holm's correction multiplies the least of three p-values by three."""
    steps: list[float | None] = [20, 22, 24, 26, 28]
    none = trained(db, "none", [0.70, 0.72, 0.71, 0.73, 0.74], steps)
    norm = trained(db, "layer_norm", [0.90, 0.93, 0.91, 0.94, 0.92], steps)
    other = trained(db, "rms_norm", [0.72, 0.71, 0.74, 0.72, 0.75], steps)
    answer = client.get("/v1/comparisons", params={"fingerprint": [none, norm, other], "format": "csv"})
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(answer.text, newline=""))}
    raw, adjusted = ({m: float(rows[m][f"difference.{p}"]) for m in ("layer_norm", "rms_norm")} for p in P_VALUES)
    assert adjusted["layer_norm"] == pytest.approx(3 * raw["layer_norm"])
    assert adjusted["rms_norm"] == pytest.approx(raw["rms_norm"]), "the largest of three p counts once"
    found = {entry["method"]: entry["difference"] for entry in compared(client, none, norm, other)["entries"][1:]}
    for method, difference in found.items():
        assert [float(rows[method][f"difference.{p}"]) for p in P_VALUES] == [difference[p] for p in P_VALUES]
