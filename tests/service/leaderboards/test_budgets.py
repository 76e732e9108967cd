"""Entries are ranked among entries that may see as many examples."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.problem import own_budget
from service.db import Database
from tests.service.leaderboards.boards import board, result

BUDGET = own_budget("permuted_digits", "smoke")  # 40 updates of 32
MORE = {"training": {"max_steps": 41}}


def rows(got: dict[str, Any]) -> list[tuple[int | None, str, bool]]:
    return [(entry["rank"], entry["method"], entry["over_budget"]) for entry in got["entries"]]


def test_an_entry_with_more_examples_than_the_profile_is_over_budget(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.99], [10], **MORE)
    result(db, "none", [0.7], [10])
    result(db, "recurrent_batch_norm", [None], [None])
    got = board(client)
    assert rows(got) == [(1, "none", False), (2, "recurrent_batch_norm", False), (None, "layer_norm", True)]
    assert (got["budget"], BUDGET) == (1280, 1280)
    assert [entry["budget"] for entry in got["entries"]] == [1280, 1280, 41 * 32]
    assert got["entries"][2]["changes"] == {"training.max_steps": 41}


def test_entries_over_budget_are_ranked_on_request_and_move_no_other_entry(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.75], [10], **MORE)
    result(db, "rms_norm", [0.75], [10], training={"batch_size": 64})
    result(db, "none", [0.7], [10])
    result(db, "recurrent_batch_norm", [0.8], [10])
    ranked = [(1, "recurrent_batch_norm", False), (2, "none", False)]
    assert rows(board(client)) == [*ranked, (None, "layer_norm", True), (None, "rms_norm", True)]
    shown = rows(board(client, over_budget=True))
    assert shown == [ranked[0], (2, "layer_norm", True), (2, "rms_norm", True), ranked[1]]


@pytest.mark.parametrize("rank_by", ["metric", "steps_to_target", "seconds_to_target"])
def test_entries_over_budget_move_no_other_entry_in_any_ranking(client: TestClient, db: Database, rank_by: str) -> None:
    result(db, "layer_norm", [0.9], [5], **MORE)
    result(db, "none", [0.7], [10])
    for over_budget in (False, True):
        got = {row[1]: row[0] for row in rows(board(client, rank_by=rank_by, over_budget=over_budget))}
        assert got == {"none": 1, "layer_norm": 1 if over_budget else None}


@pytest.mark.parametrize(
    ("training", "over"),
    [
        ({"max_steps": 20, "batch_size": 64}, False),
        ({"max_steps": 80, "batch_size": 16}, False),
        ({"max_steps": 10}, False),
        ({"batch_size": 33}, True),
        ({"max_steps": 81, "batch_size": 16}, True),
    ],
)
def test_the_budget_counts_examples_however_they_are_split_into_batches(
    client: TestClient, db: Database, training: dict[str, int], over: bool
) -> None:
    result(db, "none", [0.7], [10], training={"eval_every": 5, **training})
    [entry] = board(client)["entries"]
    assert (entry["over_budget"], entry["rank"]) == (over, None if over else 1)


def test_a_method_that_stands_only_over_budget_has_no_rank_on_its_report_card(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.9], [5], **MORE)
    result(db, "none", [0.7], [10])
    [standing] = client.get("/v1/methods/layer_norm/report-card").json()["standings"]
    assert (standing["rank"], standing["of"]) == (None, 1)
    result(db, "layer_norm", [0.6], [5])
    [standing] = client.get("/v1/methods/layer_norm/report-card").json()["standings"]
    assert (standing["rank"], standing["of"], standing["mean"]) == (2, 2, 0.6)
