"""Boards with ties and intervals, over HTTP."""

import csv
import io
import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.db import Database, utc_now
from service.experiments import lifecycle
from service.leaderboards.queries import BoardRequest, leaderboard
from service.leaderboards.schemas import Leaderboard
from tests.service.leaderboards.boards import board, ended, result
from tests.service.sample_runs import MAX_STEPS, claimed, finished, run_of, started, submitted, timing_of

SEEDS = 5
CLOSE, WORSE = [0.80, 0.81, 0.82, 0.83, 0.84], [0.31, 0.30, 0.33, 0.32, 0.30]
STEPS = [10, 12, 14, 16, 18]


def by_method(got: dict[str, Any], *fields: str) -> dict[str, tuple[Any, ...]]:
    return {entry["method"]: tuple(entry[field] for field in fields) for entry in got["entries"]}


def test_entries_without_a_sure_difference_are_tied(client: TestClient, db: Database) -> None:
    scattered = [CLOSE[k] for k in (3, 0, 4, 1, 2)]
    result(db, "layer_norm", CLOSE, STEPS)
    result(db, "rms_norm", [v + 0.001 for v in scattered], STEPS)
    result(db, "none", WORSE, STEPS)
    assert by_method(board(client), "rank", "rank_ci", "tie_group") == {
        "rms_norm": (1, [1, 2], 1),
        "layer_norm": (2, [1, 2], 1),
        "none": (3, [3, 3], 2),
    }


def test_times_without_a_sure_difference_are_tied_and_misses_are_slower(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", CLOSE, STEPS)
    result(db, "rms_norm", CLOSE, [STEPS[k] + 1 for k in (3, 0, 4, 1, 2)])
    result(db, "none", CLOSE, [None] * SEEDS)
    got = board(client, rank_by="steps_to_target")
    assert by_method(got, "rank", "rank_ci", "tie_group") == {
        "layer_norm": (1, [1, 2], 1),
        "rms_norm": (2, [1, 2], 1),
        "none": (3, [3, 3], 2),
    }
    [missed] = [entry for entry in got["entries"] if entry["method"] == "none"]
    assert (
        missed["steps_to_target"]
        == {
            "median": None,
            "reached": 0,
            "ci95": [40.0, None],
            "restricted_mean": 40.0,
            "tau": 40.0,
        }
        or missed["steps_to_target"]["median"] is None
    )


def test_an_entry_with_diverged_seeds_does_not_win_by_its_converged_seeds(client: TestClient, db: Database) -> None:
    """Three good seeds and two diverged seeds have a lower score than five seeds that are nearly as good."""
    result(db, "none", [0.90, 0.91, 0.92, None, None], [10, 10, 10, None, None])
    result(db, "layer_norm", [0.80, 0.81, 0.82, 0.83, 0.84], STEPS)
    got = by_method(board(client), "rank", "n_diverged", "score")
    assert got["layer_norm"] == (1, 0, pytest.approx(0.82))
    assert got["none"] == (2, 2, pytest.approx((0.90 + 0.91 + 0.92 + 2 * 0.1) / 5))
    assert by_method(board(client), "diverged_ci95")["none"][0] == pytest.approx([0.0527, 0.8534], abs=1e-4)


def test_a_seed_that_explodes_counts_as_one_that_diverged(client: TestClient, db: Database) -> None:
    """Hand computation: (2.0 + 2.2 + 6.0) / 3 bits, for a model that needs 6.0 without skill; less is better."""
    task = {"name": "char_lm", "profile": "smoke"}
    bits = {"metric": "bits_per_char", "no_skill": 6.0}
    for method, values in (("none", [3.0, 3.2, 3.4]), ("layer_norm", [2.0, 2.2, 8.8e18])):
        experiment = submitted(db, method, seeds=range(3), task=task)
        ended(db, experiment, *({"value": v, "valid_value": v, "values": {"bits_per_char": v}, **bits} for v in values))
    got = by_method(board(client, "char_lm"), "rank", "score", "n_diverged")
    assert got == {"none": (1, pytest.approx(3.2), 0), "layer_norm": (2, pytest.approx((2.0 + 2.2 + 6.0) / 3), 0)}
    assert by_method(board(client, "char_lm"), "value")["layer_norm"][0]["mean"] == pytest.approx(8.8e18 / 3)


def test_no_interval_of_an_accuracy_is_impossible_or_of_no_width(client: TestClient, db: Database) -> None:
    """Hand computation for 300 test images: .7 +- .65 is cut at 1; three of .65 are known to half an image, 1/600."""
    for method, values in (("none", [0.5, 0.7, 0.9]), ("layer_norm", [0.65, 0.65, 0.65])):
        experiment = submitted(db, method, seeds=range(3))
        ended(db, experiment, *({"value": v, "values": {"accuracy": v}} for v in values))
    for got in (board(client), board(client, as_of=utc_now().isoformat())):
        found = by_method(got, "value", "values")
        for value in (found["none"][0], found["none"][1]["accuracy"]):
            assert value["ci95"] == pytest.approx([0.048429, 1], abs=1e-6)
        for value in (found["layer_norm"][0], found["layer_norm"][1]["accuracy"]):
            assert (value["std"], value["ci95"]) == (0, pytest.approx([0.65 - 1 / 600, 0.65 + 1 / 600]))


def test_the_best_entry_of_each_method_is_chosen_by_validation(client: TestClient, db: Database) -> None:
    for gain, valid, test in ((1.0, 0.7, 0.9), (0.5, 0.8, 0.6), (0.1, 0.75, 0.95)):
        experiment = submitted(db, norm={"method": "layer_norm", "gain_init": gain})
        ended(db, experiment, {"value": test, "valid_value": valid})
    result(db, "none", [0.65], [10])
    got = board(client, entries="best")["entries"]
    assert [(entry["rank"], entry["method"], entry["value"]["mean"], entry["best_of"]) for entry in got] == [
        (1, "none", 0.65, 1),
        (2, "layer_norm", 0.6, 3),
    ]
    assert [entry["best_of"] for entry in board(client)["entries"]] == [1] * 4


def trained_on(db: Database, method: str, cpu: str, value: float, steps: int, seconds: float, seed: int = 0) -> str:
    submitted(db, method, seeds=[seed])
    lease = claimed(db).lease
    environment = {"host": "a", "cpu": cpu, "threads": 1}
    with db.transaction() as session:
        begun = replace(started(), environment=environment)
        lifecycle.start(session, lease, begun, device="cpu", resumed_from=None)
    finished(db, lease, value=value, steps_to_target=steps, seconds_to_target=seconds)
    return lease.run_id


def test_seconds_are_ranked_only_on_one_hardware(client: TestClient, db: Database) -> None:
    trained_on(db, "none", "EPYC", 0.7, 10, 4.0)
    trained_on(db, "layer_norm", "EPYC", 0.7, 10, 2.0)
    trained_on(db, "rms_norm", "Xeon", 0.7, 10, 1.0)
    got = board(client, rank_by="seconds_to_target")
    assert got["hardware"] == "EPYC, 1 thread"
    assert by_method(got, "rank", "hardware") == {
        "layer_norm": (1, "EPYC, 1 thread"),
        "none": (2, "EPYC, 1 thread"),
        "rms_norm": (None, "Xeon, 1 thread"),
    }
    assert by_method(got, "speedup")["rms_norm"][0]["seconds"] is None
    assert by_method(board(client, rank_by="steps_to_target"), "rank")["rms_norm"] == (1,), "steps compare everywhere"


def test_a_seed_with_two_results_on_one_machine_is_reported(client: TestClient, db: Database) -> None:
    trained_on(db, "layer_norm", "EPYC", 0.7, 10, 4.0, seed=3)
    trained_on(db, "layer_norm", "EPYC", 0.6, 10, 4.0, seed=3)
    trained_on(db, "layer_norm", "Xeon", 0.5, 10, 4.0, seed=3)
    [entry] = board(client)["entries"]
    assert (entry["conflicting_seeds"], entry["n_runs"], entry["value"]["mean"]) == ([3], 3, 0.7)


def test_a_board_of_an_earlier_time_has_the_runs_that_had_ended_by_then(client: TestClient, db: Database) -> None:
    first = trained_on(db, "layer_norm", "EPYC", 0.7, 10, 4.0)
    between = run_of(db, first).finished_at
    assert between is not None
    trained_on(db, "layer_norm", "EPYC", 0.9, 10, 4.0, seed=1)
    trained_on(db, "none", "EPYC", 0.6, 10, 4.0)
    then, now = board(client, as_of=between.isoformat()), board(client)
    assert by_method(then, "n_runs", "score") == {"layer_norm": (1, 0.7)}
    assert datetime.fromisoformat(then["as_of"]) == between
    later = board(client, as_of=utc_now().isoformat())
    assert {**later, "as_of": None} == now, "pooled anew it is what was pooled run by run"
    assert board(client, as_of="2020-01-01T00:00:00Z")["entries"] == []


@pytest.mark.parametrize("moment", ["soon", "2026-11-25T12:00:00"])
def test_as_of_without_a_time_zone_is_refused(shared_client: TestClient, moment: str) -> None:
    answer = shared_client.get("/v1/leaderboards/permuted_digits", params={"as_of": moment})
    assert answer.status_code == 422
    assert [error["loc"] for error in answer.json()["errors"]] == [["as_of"]]


def test_a_board_of_the_future_is_refused(shared_client: TestClient) -> None:
    tomorrow = (utc_now() + timedelta(days=1)).isoformat()
    answer = shared_client.get("/v1/leaderboards/permuted_digits", params={"as_of": tomorrow})
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["loc"], error["msg"]) == (["as_of"], "expected a moment that has passed")


def test_a_board_shows_each_run_as_soon_as_it_has_ended(client: TestClient, db: Database) -> None:
    submitted(db, "layer_norm", seeds=range(3))
    for k, value in enumerate((0.5, 0.6, 0.7), 1):
        finished(db, claimed(db).lease, value=value)
        [entry] = board(client)["entries"]
        assert (entry["n_runs"], entry["score"]) == (k, pytest.approx(0.45 + 0.05 * k))
        assert board(client)["entries"] == [entry]


def test_a_board_of_equal_entries_is_stable_and_keeps_its_groups_together(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", CLOSE, STEPS)
    for k in range(12):
        values = [0.3, 0.31, 0.32, 0.33, 0.34]
        steps = [None, None, None, None, 40] if k % 2 else [None] * SEEDS
        result(db, "none", values, steps, norm={"method": "none"}, training={"clip_norm": 1.0 + k})
    now = board(client, rank_by="steps_to_target")
    then = board(client, rank_by="steps_to_target", as_of=utc_now().isoformat())
    assert then | {"as_of": None} == now
    groups = [entry["tie_group"] for entry in now["entries"]]
    assert groups == sorted(groups)


@pytest.mark.parametrize("rank_by", ["seconds_to_target", "steps_to_target", "metric"])
def test_a_speedup_in_seconds_is_no_bound_if_only_a_contended_run_missed(
    client: TestClient, db: Database, rank_by: str
) -> None:
    """The baseline's only run that missed the target was contended, so it does not count in seconds."""
    for method, steps in (("none", [20, 22, 24, None]), ("layer_norm", [10, 11, 12, 13])):
        experiment = submitted(db, method, seeds=range(4))
        for at in steps:
            lease = claimed(db).lease
            assert lease.run_id in {run.id for run in experiment.runs}
            timing = None if at else timing_of(probe=[0.03] * 9)
            finished(db, lease, value=0.5, steps_to_target=at, seconds_to_target=at and at / 4, timing=timing)
    [entry] = [one for one in board(client, rank_by=rank_by)["entries"] if one["method"] == "layer_norm"]
    speedup = entry["speedup"]
    if rank_by == "seconds_to_target":
        assert (speedup["bound"], speedup["steps"]) == (None, None)
        assert speedup["seconds"] == pytest.approx((20 * 22 * 24) ** (1 / 3) / (10 * 11 * 12 * 13) ** (1 / 4))
        assert speedup["ci95"] is not None
    else:
        assert (speedup["bound"], speedup["seconds"], speedup["ci95"]) == ("at least", None, None)
        assert speedup["steps"] == pytest.approx((20 * 22 * 24 * MAX_STEPS / (10 * 11 * 12 * 13)) ** (1 / 4))


def test_entries_whose_seeds_did_not_all_take_off_say_so(client: TestClient, db: Database) -> None:
    result(db, "none", [0.60, 0.95, 0.94], [10, 12, 14])
    result(db, "layer_norm", [0.93, 0.95, 0.94], [10, 12, 14])
    for got in (board(client), board(client, as_of=utc_now().isoformat())):
        assert by_method(got, "gap") == {"none": (True,), "layer_norm": (False,)}
    rows = csv.DictReader(io.StringIO(client.get("/v1/leaderboards/permuted_digits?profile=smoke&format=csv").text))
    assert {row["method"]: row["gap"] for row in rows} == {"none": "true", "layer_norm": "false"}
    said = "some seeds did not take off; no interval of the mean holds for such values"
    page = client.get("/boards/permuted_digits?profile=smoke", headers={"Accept": "text/html"}).text
    assert page.count(said) == 1
    assert "in 10% of cases with 5 shared seeds" in page, "what was measured of opposite skews"


def test_the_page_shows_the_score_of_an_entry_that_is_not_ranked_by_its_mean(client: TestClient, db: Database) -> None:
    result(db, "none", [0.01, 0.01, 0.40], [10, 10, 10])
    result(db, "layer_norm", [0.30, 0.31, 0.32], [10, 10, 10])
    page = client.get("/boards/permuted_digits?profile=smoke", headers={"Accept": "text/html"}).text
    assert re.findall(r"ranked by ([0-9.]+%), because no seed", page) == ["20.00%"]


def test_a_board_of_the_best_entries_is_a_part_of_the_board_that_reads_all_entries(
    client: TestClient, db: Database
) -> None:
    result(db, "layer_norm", CLOSE, STEPS)
    result(db, "layer_norm", WORSE, STEPS, training={"optimizer": {"name": "rmsprop", "lr": 0.5}})
    result(db, "none", WORSE, STEPS)
    best, from_all = board(client, entries="best"), board(client, entries="best", code="all")
    assert [(entry["method"], entry["best_of"]) for entry in best["entries"]] == [("layer_norm", 2), ("none", 1)]
    assert best == from_all


def test_pages_share_a_board_until_another_run_ends(db: Database) -> None:
    asked = BoardRequest("permuted_digits", "smoke")

    def read() -> Leaderboard:
        with db.snapshot() as session:
            return leaderboard(session, asked)

    result(db, "layer_norm", CLOSE, STEPS)
    first = read()
    assert read() is first
    result(db, "none", WORSE, STEPS)
    assert [entry.method for entry in read().entries] == ["layer_norm", "none"]
