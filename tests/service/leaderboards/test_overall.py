"""Methods over all tasks, over HTTP."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from normcore.spec.tasks import BENCHMARKS
from service.db import Database
from service.experiments import lifecycle
from service.leaderboards.tables import Entry
from tests.service.http_calls import is_problem
from tests.service.leaderboards.boards import result
from tests.service.sample_runs import claimed, finished, started, submitted

DIGITS: dict[str, Any] = {"name": "permuted_digits", "profile": "smoke"}
IN_ORDER: dict[str, Any] = {"name": "sequential_digits", "profile": "smoke"}


def overall(client: TestClient, **query: str) -> dict[str, Any]:
    answer = client.get("/v1/leaderboards/overall", params={"profile": "smoke", **query})
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


@pytest.fixture
def two_tasks(db: Database) -> None:
    """Layer norm is twice as fast on one task, ``none`` 4/3 times as fast on the other. RMS norm was tried on one task,
    and misses the target.
    """
    result(db, "layer_norm", [0.8, 0.8], [10, 10])
    result(db, "none", [0.8, 0.8], [20, 20])
    result(db, "rms_norm", [0.8, 0.8], [None, None])
    result(db, "layer_norm", [0.8], [40], task=IN_ORDER)
    result(db, "none", [0.8], [30], task=IN_ORDER)


@pytest.mark.usefixtures("two_tasks")
def test_methods_are_ordered_by_the_area_beneath_their_profiles(client: TestClient) -> None:
    got = overall(client)
    assert got["tasks"] == [
        {"task": "sequential_digits", "target": 0.2, "least": 30.0, "hardware": None},
        {"task": "permuted_digits", "target": 0.2, "least": 10.0, "hardware": None},
    ]
    layer_norm, none, rms_norm = got["methods"]
    assert (layer_norm["rank"], layer_norm["method"], layer_norm["fastest"]) == (1, "layer_norm", 1)
    assert layer_norm["area"] == pytest.approx((1 + (4 - 4 / 3) / 3) / 2)
    assert layer_norm["profile"] == [[1.0, 0.5], [pytest.approx(4 / 3), 1.0], [2.0, 1.0], [4.0, 1.0]]
    assert (none["rank"], none["method"], none["area"]) == (2, "none", pytest.approx((2 / 3 + 1) / 2))
    assert none["ratios"] == {"permuted_digits": 2.0, "sequential_digits": 1.0}
    assert (rms_norm["rank"], rms_norm["area"], rms_norm["untried"]) == (3, 0.0, ["sequential_digits"])
    assert rms_norm["ratios"] == {"permuted_digits": None, "sequential_digits": None}
    assert rms_norm["times"] == {"permuted_digits": None, "sequential_digits": None}


@pytest.mark.usefixtures("two_tasks")
def test_tasks_that_do_not_count_are_named_with_the_reason(client: TestClient, db: Database) -> None:
    result(db, "none", [3.0], [None], task={"name": "char_lm", "profile": "smoke"})
    got = overall(client)
    left_out = {one["task"]: one["reason"] for one in got["left_out"]}
    assert left_out["char_lm"] in ("target not reached", "no target")
    assert left_out["sequential_mnist"] == "no entries"
    assert left_out.keys() | {one["task"] for one in got["tasks"]} == set(BENCHMARKS)
    assert "a third method can turn two others round" in got["caution"]
    assert got["flips"] == []


def test_only_default_specs_count(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.8], [20])
    result(db, "layer_norm", [0.8], [5], model={"hidden_size": 32})
    result(db, "layer_norm", [0.8], [5], norm={"method": "layer_norm", "gain_init": 0.5})
    assert [one["least"] for one in overall(client)["tasks"]] == [20.0]


def test_entries_of_other_data_are_of_another_problem_and_count_for_nothing(client: TestClient, db: Database) -> None:
    """The specs agree with the profile; the checksums of the data differ, as those of a later release would."""
    result(db, "none", [0.8], [20])
    fastest = result(db, "layer_norm", [0.8], [5])
    with db.transaction() as session:
        session.execute(update(Entry).where(Entry.fingerprint == fastest).values(problem="0123456789abcdef"))
    got = overall(client)
    assert [(one["task"], one["least"]) for one in got["tasks"]] == [("permuted_digits", 20.0)]
    assert [(one["method"], one["area"]) for one in got["methods"]] == [("none", 1.0)]


def test_each_profile_has_its_own_ranking_over_all_tasks(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.8], [20])
    got = overall(client, profile="small")
    assert (got["profile"], got["methods"], got["tasks"]) == ("small", [], [])


def test_seconds_count_only_on_the_hardware_of_most_methods(client: TestClient, db: Database) -> None:
    for method, cpu, seconds in (("none", "EPYC", 4.0), ("layer_norm", "EPYC", 2.0), ("rms_norm", "Xeon", 1.0)):
        submitted(db, method)
        lease = claimed(db).lease
        with db.transaction() as session:
            begun = replace(started(), environment={"cpu": cpu})
            lifecycle.start(session, lease, begun, device="cpu", resumed_from=None)
        finished(db, lease, value=0.8, steps_to_target=20, seconds_to_target=seconds)
    got = overall(client, rank_by="seconds_to_target")
    assert got["tasks"][0]["hardware"] == "EPYC, 1 thread"
    assert {m["method"]: m["ratios"]["permuted_digits"] for m in got["methods"]} == {
        "layer_norm": 1.0,
        "none": 2.0,
        "rms_norm": None,
    }
    assert [m["rank"] for m in overall(client)["methods"]] == [1, 1, 1], "in updates they are alike"


def test_the_cached_ranking_is_made_anew_after_a_run(client: TestClient, db: Database) -> None:
    assert overall(client)["methods"] == []
    result(db, "layer_norm", [0.8], [20])
    assert [method["method"] for method in overall(client)["methods"]] == ["layer_norm"]


@pytest.mark.parametrize("wrong", [{"profile": "huge"}, {"rank_by": "metric"}, {"task": "char_lm"}])
def test_a_wrong_parameter_is_named(client: TestClient, wrong: dict[str, str]) -> None:
    answer = client.get("/v1/leaderboards/overall", params=wrong)
    assert is_problem(answer, 422)
    assert [error["loc"] for error in answer.json()["errors"]] == [list(wrong)]


def test_the_page_of_all_boards_stays_the_same_until_another_run_ends(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.8] * 3, [10, 12, 14])
    first = client.get("/boards?profile=smoke")
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get("/boards?profile=smoke", headers=known).status_code == 304
    result(db, "none", [0.7] * 3, [20, 22, 24])
    later = client.get("/boards?profile=smoke", headers=known)
    assert later.status_code == 200
    assert "/methods/none" in later.text
    assert "/methods/none" not in first.text
