"""A board ranks only entries whose shared parts have one code: the task, and models, optimizers and methods of one
name.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from normcore.own_code import parts_of
from normcore.spec import resolve
from service.db import Database
from service.experiments.tables import Run
from tests.service.leaderboards.boards import board
from tests.service.sample_runs import begun, claimed, finished, measured, recorded, submitted, written

BOARD = "/v1/leaderboards/permuted_digits"
PARTS = {"task": "t1", "model": "m1", "optimizer": "o1"}


def trained(db: Database, method: str, value: float, parts: Mapping[str, Any] | None, **spec: Any) -> str:
    """Store an ended experiment whose run had this code; return its fingerprint."""
    experiment = submitted(db, method, **spec)
    lease = claimed(db).lease
    told = None if parts is None else {"version": "0.1.0", "commit": None, "dirty": None, "parts": dict(parts)}
    begun(db, lease, code=told)
    recorded(db, lease, measured(10))
    finished(db, lease, value=value)
    return experiment.fingerprint


def shown(client: TestClient, **query: Any) -> list[tuple[Any, ...]]:
    entries = board(client, **query)["entries"]
    return [(entry["method"], entry["rank"], entry["score"], entry["older_parts"]) for entry in entries]


def of(method: str, **parts: str) -> dict[str, str]:
    return {**PARTS, "norm": method, **parts}


@pytest.mark.parametrize("part", ["task", "model", "optimizer"])
def test_an_entry_of_an_older_part_is_set_aside_and_counted(client: TestClient, db: Database, part: str) -> None:
    trained(db, "layer_norm", 0.5, of("layer_norm"))
    older = trained(db, "none", 0.9, of("none"))
    trained(db, "layer_norm", 0.4, of("layer_norm", **{part: "edited"}))
    assert shown(client) == [("layer_norm", 1, 0.4, [])]
    said = {"n_entries": 1, "detail": f"1 entry of an older {part} is set aside; submit it again."}
    assert board(client)["set_aside"] == said
    every = board(client, code="all")
    assert [(e["method"], e["rank"], e["of_older_code"], e["older_parts"]) for e in every["entries"]] == [
        ("layer_norm", 1, False, []),
        ("none", None, True, [part]),
        ("layer_norm", None, True, [part]),
    ]
    assert every["set_aside"] == said
    assert older in {e["fingerprint"] for e in every["entries"]}


def test_an_entry_that_is_trained_again_is_back(client: TestClient, db: Database) -> None:
    trained(db, "layer_norm", 0.5, of("layer_norm"))
    trained(db, "none", 0.9, of("none"))
    trained(db, "layer_norm", 0.4, of("layer_norm", task="t2"))
    trained(db, "none", 0.3, of("none", task="t2"))
    assert shown(client) == [("layer_norm", 1, 0.4, []), ("none", 2, 0.3, [])]
    assert board(client)["set_aside"] is None


def test_parts_of_different_names_do_not_set_each_other_aside(client: TestClient, db: Database) -> None:
    """Two methods, two optimizers and two cells have code of their own."""
    trained(db, "layer_norm", 0.5, of("layer_norm"))
    adam = {"optimizer": {"name": "adam"}}
    trained(db, "none", 0.9, of("none", optimizer="o2", model="m2"), training=adam, model={"cell": "gru"})
    assert [row[:2] for row in shown(client)] == [("none", 1), ("layer_norm", 2)]
    assert board(client)["set_aside"] is None


def test_settings_of_one_method_have_one_code(client: TestClient, db: Database) -> None:
    trained(db, "layer_norm", 0.9, of("a"), norm={"method": "layer_norm", "eps": 1e-3})
    trained(db, "layer_norm", 0.5, of("b"))
    assert shown(client) == [("layer_norm", 1, 0.5, [])]
    assert board(client)["set_aside"]["detail"] == "1 entry of an older method is set aside; submit it again."


def test_entries_without_digests_of_their_code_stay_ranked(client: TestClient, db: Database) -> None:
    trained(db, "layer_norm", 0.5, None)
    trained(db, "none", 0.9, None)
    assert [row[:2] for row in shown(client)] == [("none", 1), ("layer_norm", 2)]
    trained(db, "layer_norm", 0.4, of("layer_norm"))
    assert shown(client) == [("none", 1, 0.9, []), ("layer_norm", 2, 0.4, [])]
    assert board(client)["set_aside"] is None


def test_an_exported_board_leaves_out_older_entries_as_the_answer_does(client: TestClient, db: Database) -> None:
    trained(db, "none", 0.9, of("none"))
    trained(db, "layer_norm", 0.4, of("layer_norm", task="t2"))

    def rows(**query: str) -> list[str]:
        answer = client.get(BOARD, params={"profile": "smoke", "format": "csv", **query})
        return str(answer.text).splitlines()

    assert len(rows()) == 2
    assert [json.dumps(["task"]).replace('"', '""') in row for row in rows(code="all")[1:]] == [False, True]


def test_an_older_entry_is_compared_with_nothing(client: TestClient, db: Database) -> None:
    older = trained(db, "none", 0.9, of("none"))
    newer = trained(db, "layer_norm", 0.4, of("layer_norm", task="t2"))
    answer = client.get("/v1/comparisons", params={"fingerprint": [older, newer]})
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    wrong = f"{older[:8]} is of an older task than others of its board; submit it again"
    assert (error["loc"], error["msg"]) == (["fingerprint"], wrong)
    page = client.get("/compare", params={"fingerprint": [older, newer]})
    assert (page.status_code, wrong in page.text) == (422, True)


def test_an_older_entry_leaves_the_board_of_all_tasks(client: TestClient, db: Database) -> None:
    trained(db, "none", 0.9, of("none"))
    trained(db, "layer_norm", 0.4, of("layer_norm", task="t2"))
    found = client.get("/v1/leaderboards/overall", params={"profile": "smoke"}).json()
    assert [one["method"] for one in found["methods"]] == ["layer_norm"]
    page = client.get("/boards", params={"profile": "smoke"}).text
    assert 'href="/methods/none"' not in page


def test_a_board_of_an_earlier_time_has_the_parts_of_that_time(client: TestClient, db: Database) -> None:
    trained(db, "none", 0.9, of("none"))
    trained(db, "layer_norm", 0.4, of("layer_norm"))
    with db.snapshot() as session:
        moment = max(filter(None, session.scalars(select(Run.finished_at))))
    trained(db, "layer_norm", 0.3, of("layer_norm", task="t2"))
    assert [row[:2] for row in shown(client, as_of=moment.isoformat())] == [("none", 1), ("layer_norm", 2)]
    assert [row[:2] for row in shown(client)] == [("layer_norm", 1)]


def test_the_page_counts_and_shows_entries_that_are_set_aside(client: TestClient, db: Database) -> None:
    trained(db, "none", 0.9, of("none"))
    trained(db, "layer_norm", 0.4, of("layer_norm", task="t2"))
    page = client.get("/boards/permuted_digits", params={"profile": "smoke"}).text
    assert "1 entry of an older task is set aside; submit it again." in page
    assert "of other settings not shown" not in page
    every = client.get("/boards/permuted_digits", params={"profile": "smoke", "entries": "all", "code": "all"}).text
    assert "older task" in every.partition("<strong>Of older code</strong>")[2]


# -- after an undo -----------------------------------------------------------------------------------


def now(method: str) -> dict[str, str | None]:
    return parts_of(resolve(written(method)))


def test_after_an_undo_the_runs_of_the_present_code_count_again(client: TestClient, db: Database) -> None:
    trained(db, "layer_norm", 0.5, now("layer_norm"), seeds=[0])
    trained(db, "layer_norm", 0.6, now("layer_norm"), seeds=[1])
    trained(db, "layer_norm", 0.9, {**now("layer_norm"), "norm": "edited"}, seeds=[0])
    [entry] = board(client)["entries"]
    assert (entry["n_runs"], entry["n_older"], entry["n_seeds"]) == (2, 1, 2)
    assert entry["value"]["mean"] == pytest.approx(0.55)
    planned = client.post("/v1/experiments?dry_run=true", json=written("layer_norm", seeds=[0, 1, 2])).json()
    assert planned["measured_seeds"] == [0, 1]
    every = board(client, code="all")["entries"]
    assert [(e["score"], e["of_older_code"], e["older_parts"]) for e in every] == [
        (pytest.approx(0.55), False, []),
        (0.9, True, ["norm"]),
    ]


def test_entries_that_were_set_aside_are_back_after_an_undo_of_their_task(client: TestClient, db: Database) -> None:
    none = trained(db, "none", 0.7, now("none"))
    layer_norm = trained(db, "layer_norm", 0.5, now("layer_norm"))
    trained(db, "layer_norm", 0.9, {**now("layer_norm"), "task": "edited"})
    assert shown(client) == [("none", 1, 0.7, []), ("layer_norm", 2, 0.5, [])]
    compared = client.get("/v1/comparisons", params={"fingerprint": [none, layer_norm]}).json()["entries"]
    assert [entry["value"]["mean"] for entry in compared] == [0.7, 0.5]
    found = client.get("/v1/leaderboards/overall", params={"profile": "smoke"}).json()
    assert {one["method"] for one in found["methods"]} == {"none", "layer_norm"}


def test_an_entry_with_runs_only_of_an_undone_edit_is_set_aside(client: TestClient, db: Database) -> None:
    trained(db, "none", 0.7, now("none"))
    trained(db, "layer_norm", 0.9, {**now("layer_norm"), "task": "edited"})
    assert shown(client) == [("none", 1, 0.7, [])]
    assert board(client)["set_aside"]["n_entries"] == 1


def test_runs_of_the_undone_code_are_marked(client: TestClient, db: Database) -> None:
    trained(db, "layer_norm", 0.5, now("layer_norm"))
    trained(db, "layer_norm", 0.9, {**now("layer_norm"), "norm": "edited"})
    newest_first = [one["id"] for one in client.get("/v1/experiments").json()["items"]]
    marked = [client.get(f"/v1/experiments/{one}").json()["runs"][0]["of_older_code"] for one in newest_first]
    assert marked == [True, False]
