"""Comparisons as the API shows them."""

import csv
import io
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from starlette.testclient import TestClient

from normcore.events import Measured
from normcore.target import Point
from service.db import Database
from service.experiments import lifecycle
from service.statistics.times import to_baselines_best
from tests.service.sample_runs import MAX_STEPS, begun, claimed, finished, recorded, started, submitted

SEEDS = range(5)
ACCURACIES = [0.80, 0.82, 0.81, 0.84, 0.83]
ENVIRONMENT = {"host": "a", "cpu": "EPYC", "threads": 1}


def trained(
    db: Database, method: str, values: list[float | None], steps: list[float | None], pace: float = 0.1, **parts: Any
) -> str:
    """Store an ended experiment with a run for each value; return its fingerprint. Runs reach the target at ``steps``;
    a step takes ``pace`` seconds. Validation rises by 0.01 a step to 0.4.
    """
    environment = {**ENVIRONMENT, **parts.pop("environment", {})}
    experiment = submitted(db, method, seeds=range(len(values)), **parts)
    for value, at in zip(values, steps, strict=True):
        lease = claimed(db).lease
        with db.transaction() as session:
            begun = replace(started(), environment=environment)
            lifecycle.start(session, lease, begun, device="cpu", resumed_from=None)
        recorded(db, lease, *(Measured(k, k * pace, {"valid.accuracy": k / 100}) for k in range(10, 50, 10)))
        seconds: dict[str, Any] = {
            "seconds_to_target": at and at * pace,
            "seconds_below_target": None if at else MAX_STEPS * pace,
        }
        outcome: Any = "diverged" if value is None else "completed"
        finished(db, lease, outcome, value=value, steps_to_target=at, **seconds)
    return experiment.fingerprint


def compared(client: TestClient, *fingerprints: str, **query: str) -> dict[str, Any]:
    answer = client.get("/v1/comparisons", params={"fingerprint": list(fingerprints), **query})
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def refused(client: TestClient, status: int, *fingerprints: str, **query: str) -> str:
    answer = client.get("/v1/comparisons", params={"fingerprint": list(fingerprints), **query})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.text


@pytest.fixture
def two(db: Database) -> tuple[str, str]:
    """Fingerprints of ``none`` and of layer norm, which needs half the updates. An update takes 1.25 times as long."""
    none = trained(db, "none", [v - 0.1 for v in reversed(ACCURACIES)], [20, 22, 24, 26, 28])
    return none, trained(db, "layer_norm", [*ACCURACIES], [10, 11, 12, 13, 14], pace=0.125)


def test_entries_stand_side_by_side_with_curves_and_differences(client: TestClient, two: tuple[str, str]) -> None:
    none, norm = two
    got = compared(client, norm, none)
    assert (got["task"], got["profile"], got["series"], got["direction"]) == (
        "permuted_digits",
        "smoke",
        "valid.accuracy",
        "maximize",
    )
    assert got["baseline"] == none, "that without normalization, whatever the order"
    own, baseline = got["entries"]
    assert [entry["fingerprint"] for entry in got["entries"]] == [norm, none]
    assert (own["method"], own["seeds"], len(own["runs"])) == ("layer_norm", list(SEEDS), 5)
    assert own["curve"]["steps"] == [10, 20, 30, 40]
    assert own["curve"]["seconds"] == pytest.approx([1.25, 2.5, 3.75, 5.0])
    assert own["curve"]["mean"] == own["curve"]["low"] == own["curve"]["high"] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert own["runs"][0]["points"][0] == [10, 0.1, 1.25]
    differences = [a - b for a, b in zip(ACCURACIES, [v - 0.1 for v in reversed(ACCURACIES)], strict=True)]
    test = scipy.stats.ttest_1samp(differences, 0)
    assert own["difference"]["mean"] == pytest.approx(0.1)
    assert own["difference"]["p_value"] == pytest.approx(test.pvalue)
    assert own["difference"]["ci95"] == pytest.approx(list(test.confidence_interval(0.95)))
    assert own["difference"]["seeds"] == list(SEEDS)
    assert (baseline["difference"], baseline["speedup"]) == (None, None)


def test_a_speedup_is_its_ratio_of_steps_times_its_ratio_of_seconds_per_step(
    client: TestClient, two: tuple[str, str]
) -> None:
    split = compared(client, *two)["entries"][1]["speedup"]
    assert split["steps"]["ratio"] == pytest.approx(2)
    assert split["seconds_per_step"]["ratio"] == pytest.approx(1 / 1.25)
    assert split["total"]["ratio"] == pytest.approx(split["steps"]["ratio"] * split["seconds_per_step"]["ratio"])
    assert split["bound"] is None
    assert split["to_baselines_best"]["fraction"] == pytest.approx(1), "the curves are alike"


def test_the_difference_changes_its_sign_with_the_other_baseline(client: TestClient, two: tuple[str, str]) -> None:
    none, norm = two
    turned = compared(client, none, norm, baseline=norm[:12])
    assert turned["baseline"] == norm
    assert turned["entries"][0]["difference"]["mean"] == pytest.approx(-0.1)
    assert turned["entries"][0]["speedup"]["steps"]["ratio"] == pytest.approx(0.5)


def test_survival_is_the_share_of_seeds_that_have_not_reached_the_target(client: TestClient, db: Database) -> None:
    first = trained(db, "none", [0.7, 0.7, 0.7, 0.7], [10, 20, None, None])
    second = trained(db, "layer_norm", [0.7], [10])
    got = compared(client, first, second)["entries"][0]["survival"]
    assert [row[:2] for row in got] == [[0.0, 1.0], [10.0, 0.75], [20.0, 0.5], [40.0, 0.5]]
    for _, left, low, high in got:
        expected = scipy.stats.binomtest(round(4 * left), 4).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("elsewhere", [{"cpu": "Xeon"}, {"threads": 2}])
def test_seconds_of_other_hardware_are_not_compared(
    client: TestClient, db: Database, elsewhere: dict[str, Any]
) -> None:
    none = trained(db, "none", [0.7, 0.8], [20, 20])
    norm = trained(db, "layer_norm", [0.7, 0.8], [10, 10], environment=elsewhere)
    split = compared(client, none, norm)["entries"][1]["speedup"]
    assert split["steps"]["ratio"] == pytest.approx(2)
    nothing = {"ratio": None, "ci95": None}
    assert (split["seconds_per_step"], split["total"]) == (nothing, nothing)


def test_a_speedup_over_a_baseline_that_misses_is_a_bound(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [0.7, 0.8], [20, None])
    norm = trained(db, "layer_norm", [0.7, 0.8], [10, 10])
    split = compared(client, none, norm)["entries"][1]["speedup"]
    assert (split["bound"], split["steps"]["ci95"]) == ("at least", None)
    assert split["steps"]["ratio"] == pytest.approx((20 * 40) ** 0.5 / 10)


def test_entries_that_diverged_keep_their_curves(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [None, None], [None, None])
    norm = trained(db, "layer_norm", [0.7, 0.8], [10, 10])
    got = compared(client, none, norm)["entries"]
    assert (got[0]["value"], got[1]["difference"], got[1]["outcome"]) == (None, None, "not tested")
    assert (got[0]["score"], got[0]["n_diverged"], got[0]["rank"], got[0]["rank_ci"]) == (None, 2, 2, None)
    assert got[0]["curve"]["n"] == [2, 2, 2, 2]


def test_better_converged_seeds_do_not_make_an_entry_with_diverged_seeds_better(
    client: TestClient, db: Database
) -> None:
    none = trained(db, "none", [0.80, 0.82, 0.81, 0.84, 0.83], [20] * 5)
    norm = trained(db, "layer_norm", [0.95, 0.96, None, None, None], [10] * 5)
    baseline, own = compared(client, none, norm)["entries"]
    assert own["difference"]["mean"] == pytest.approx(0.135)
    assert own["difference"]["p_holm"] == own["difference"]["p_value"] < 0.001, "there is one pair"
    assert (own["n_diverged"], own["score"]) == (3, pytest.approx((0.95 + 0.96 + 3 * 0.1) / 5))
    assert (own["rank"], own["outcome"], own["above"]) == (2, "not shown", {})
    assert (baseline["n_diverged"], baseline["score"], baseline["rank"]) == (0, pytest.approx(0.82), 1)
    assert (baseline["outcome"], baseline["above"], baseline["rank_ci"]) == (None, {}, [1, 2])


def test_p_of_a_comparison_is_corrected_for_all_its_pairs(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [0.50, 0.52, 0.54], [20] * 3)
    norm = trained(db, "layer_norm", [0.55, 0.57, 0.59], [10] * 3)
    other = trained(db, "rms_norm", [0.53, 0.55, 0.56], [10] * 3)
    alone, beside = compared(client, none, norm)["entries"][1], compared(client, none, norm, other)["entries"][1]
    assert alone["difference"]["p_value"] == beside["difference"]["p_value"] == pytest.approx(0.0376, abs=1e-4)
    assert (alone["outcome"], alone["difference"]["p_holm"]) == ("better", alone["difference"]["p_value"])
    assert beside["outcome"] == "not shown"
    assert beside["difference"]["p_holm"] == pytest.approx(3 * alone["difference"]["p_value"])


def test_entries_have_the_order_and_ranks_of_their_board(client: TestClient, db: Database) -> None:
    """Holm's correction for all six pairs leaves three significant: those without the scattered entry."""
    seeds = {
        "none": [0.800, 0.801, 0.802],
        "layer_norm": [0.900, 0.901, 0.902],
        "rms_norm": [0.880, 0.881, 0.882],
        "weight_norm": [0.77, 0.87, 0.97],
    }
    found = {method: trained(db, method, [*values], [10] * 3) for method, values in seeds.items()}
    got = {entry["method"]: entry for entry in compared(client, *found.values())["entries"]}
    board = client.get("/v1/leaderboards/permuted_digits", params={"profile": "smoke"}).json()["entries"]
    assert {entry["method"]: entry["rank"] for entry in board} == {
        "layer_norm": 1,
        "rms_norm": 2,
        "weight_norm": 3,
        "none": 4,
    }
    for entry in board:
        for name in ("rank", "rank_ci", "tie_group", "score", "n_diverged", "budget", "over_budget"):
            assert got[entry["method"]][name] == entry[name], (entry["method"], name)
    assert got["layer_norm"]["rank_ci"] == [1, 2]
    welch = scipy.stats.ttest_ind(seeds["layer_norm"], seeds["rms_norm"], equal_var=False).pvalue
    assert got["layer_norm"]["above"].keys() == {found["rms_norm"], found["none"]}
    assert got["layer_norm"]["above"][found["rms_norm"]] == pytest.approx(4 * welch), "the third of six"
    assert got["layer_norm"]["above"][found["none"]] == got["layer_norm"]["difference"]["p_holm"]
    assert {method: entry["outcome"] for method, entry in got.items()} == {
        "none": None,
        "layer_norm": "better",
        "rms_norm": "better",
        "weight_norm": "not shown",
    }
    turned = compared(client, *found.values(), baseline=found["layer_norm"])["entries"]
    assert [entry["outcome"] for entry in turned] == ["worse", None, "worse", "not shown"]


def test_an_entry_over_the_budget_has_no_rank_and_moves_no_other_entry(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [0.800, 0.803, 0.802], [20] * 3)
    norm = trained(db, "layer_norm", [0.900, 0.901, 0.903], [10] * 3)
    more = trained(db, "rms_norm", [0.950, 0.951, 0.952], [10] * 3, training={"max_steps": 2 * MAX_STEPS})
    alone = compared(client, none, norm)["entries"]
    *others, over = compared(client, none, norm, more)["entries"]
    for name in ("rank", "rank_ci", "tie_group", "above", "outcome", "over_budget"):
        assert [entry[name] for entry in others] == [entry[name] for entry in alone]
    assert others[1]["difference"] == alone[1]["difference"]
    assert [entry["over_budget"] for entry in (*others, over)] == [False, False, True]
    assert (over["rank"], over["rank_ci"], over["tie_group"], over["above"]) == (None, None, None, {})
    assert over["budget"] == 2 * others[0]["budget"]
    assert over["outcome"] == "better"
    pairs = ((0.950, 0.951, 0.952), (0.800, 0.803, 0.802)), ((0.900, 0.901, 0.903), (0.800, 0.803, 0.802))
    p_values = [scipy.stats.ttest_ind(*pair, equal_var=False).pvalue for pair in pairs]
    assert over["difference"]["p_value"] == pytest.approx(p_values[0])
    assert over["difference"]["p_holm"] == pytest.approx(max(3 * min(p_values), 2 * p_values[0])), "of three pairs"
    beside = compared(client, none, norm, more, baseline=more)["entries"]
    assert [entry["outcome"] for entry in beside] == ["worse", "worse", None]
    assert [entry["rank"] for entry in beside] == [2, 1, None]


def test_an_invalid_comparison_is_refused(client: TestClient, db: Database, two: tuple[str, str]) -> None:
    none, norm = two
    other = trained(db, "none", [0.7], [10], task={"name": "sequential_digits", "profile": "smoke"})
    assert "of different boards" in refused(client, 422, none, other)
    assert "give two or more different fingerprints" in refused(client, 422, none, none)
    assert "no entry has a fingerprint that begins with 00000000" in refused(client, 404, none, "0" * 8)
    assert "expected one of the fingerprints" in refused(client, 422, none, norm, baseline=other)
    assert "did you mean 'valid.accuracy'" in refused(client, 422, none, norm, series="valid.acuracy")
    for wrong in ([none], ["none", norm], []):
        assert '"fingerprint"' in refused(client, 422, *wrong)


def test_statistics_use_all_points_where_fewer_are_shown(client: TestClient, db: Database) -> None:
    """Each seed has its extremes at different steps."""
    draw = random.Random(0)
    curves = [[[draw.random() for _ in range(1500)] for _ in range(3)] for _ in ("none", "layer_norm")]
    fingerprints = []
    for method, seeds in zip(("none", "layer_norm"), curves, strict=True):
        experiment = submitted(db, method, seeds=range(3))
        fingerprints.append(experiment.fingerprint)
        for values in seeds:
            lease = claimed(db).lease
            begun(db, lease)
            points = (Measured(k, k * 0.1, {"valid.accuracy": v}) for k, v in enumerate(values, start=1))
            recorded(db, lease, *points)
            finished(db, lease)
    for entry, seeds in zip(compared(client, *fingerprints)["entries"], curves, strict=True):
        curve = entry["curve"]
        assert len(curve["steps"]) == 1000
        assert set(curve["n"]) == {3}
        for step, mean, low, high in zip(*(curve[name] for name in ("steps", "mean", "low", "high")), strict=True):
            at = [values[round(step) - 1] for values in seeds]
            assert mean == pytest.approx(np.mean(at))
            half = scipy.stats.t.ppf(0.985, 2) * np.std(at, ddof=1) / np.sqrt(3)
            assert (low, high) == pytest.approx((max(0, mean - half), min(1, mean + half)))
        assert [len(run["points"]) for run in entry["runs"]] == [1000] * 3
    of_points = [
        {s: [Point(k, v, k * 0.1) for k, v in enumerate(values, start=1)] for s, values in enumerate(seeds)}
        for seeds in curves
    ]
    split = compared(client, *fingerprints)["entries"][1]["speedup"]
    for name, own_best in (("to_baselines_best", False), ("own_best", True)):
        exact = to_baselines_best(of_points[0], of_points[1], "maximize", own_best=own_best)
        assert exact is not None
        assert (split[name]["fraction"], split[name]["n"], split[name]["bound"]) == (
            pytest.approx(exact.fraction),
            exact.n,
            exact.bound,
        )


def test_a_seed_that_diverged_before_its_first_evaluation_has_no_time_to_compare(
    client: TestClient, db: Database
) -> None:
    none = trained(db, "none", [0.7, 0.8], [10, 10])
    norm = submitted(db, "layer_norm", seeds=[0, 1])
    for _ in range(2):
        lease = claimed(db).lease
        begun(db, lease)
        finished(db, lease, "diverged", value=None)
    got = compared(client, none, norm.fingerprint)["entries"][1]
    assert (got["curve"]["steps"], got["difference"]) == ([], None)
    assert got["speedup"] is None or got["speedup"]["to_baselines_best"] is None


def test_intervals_of_a_comparison_are_cut_to_possible_values(client: TestClient, db: Database) -> None:
    """Two seeds each, whose intervals by Student's t are far wider than an accuracy can be."""
    fingerprints = [trained(db, method, [low, 0.9], [10, 10]) for method, low in (("none", 0.1), ("layer_norm", 0.3))]
    got = compared(client, *fingerprints)
    assert [entry["value"]["ci95"] for entry in got["entries"]] == [[0, 1], [0, 1]]
    assert got["entries"][1]["difference"]["ci95"] == [-1, 1]
    rows = csv.DictReader(
        io.StringIO(client.get("/v1/comparisons", params={"fingerprint": fingerprints, "format": "csv"}).text)
    )
    assert [float(row["value.ci95.high"]) for row in rows] == [1, 1]


def test_the_bands_of_curves_are_cut_to_what_values_can_be(client: TestClient, db: Database) -> None:
    experiments = [submitted(db, method, seeds=[0, 1]) for method in ("none", "layer_norm")]
    for value in (0.1, 0.9, 0.2, 0.8):
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, *(Measured(k, k / 10, {"valid.accuracy": value}) for k in (10, 20)))
        finished(db, lease, value=value)
    for entry in compared(client, *(experiment.fingerprint for experiment in experiments))["entries"]:
        for curve in (entry["curve"], entry["curve_by_seconds"]):
            assert (set(curve["low"]), set(curve["high"])) == ({0}, {1})


def test_an_entry_whose_seeds_did_not_all_take_off_says_so(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [0.60, 0.95, 0.94], [10, 10, 10])
    norm = trained(db, "layer_norm", [0.93, 0.95, 0.94], [10, 10, 10])
    assert [entry["gap"] for entry in compared(client, none, norm)["entries"]] == [True, False]
    answer = client.get("/v1/comparisons", params={"fingerprint": [none, norm], "format": "csv"})
    assert [row["gap"] for row in csv.DictReader(io.StringIO(answer.text))] == ["true", "false"]
