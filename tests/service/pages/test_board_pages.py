"""A board of many entries."""

import re

import pytest
from starlette.testclient import TestClient

from service.db import Database
from tests.service.leaderboards.boards import board, result

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_fifty_entries_are_on_a_page_in_the_order_of_the_api(client: TestClient, db: Database) -> None:
    for size in range(51):
        result(db, "layer_norm", [0.5 + size / 1000], [20], model={"hidden_size": 16 + size})
    ranked = [entry["fingerprint"][:12] for entry in board(client)["entries"]]
    address = "/boards/permuted_digits?profile=smoke&entries=all"
    first, second = (client.get(f"{address}&page={k}").text for k in (1, 2))
    shown = [re.findall(r'name="fingerprint" value="(\w+)"', text) for text in (first, second)]
    assert [len(found) for found in shown] == [50, 1]
    assert shown[0] + shown[1] == ranked
    assert 'href="/boards/permuted_digits?profile=smoke&amp;rank_by=metric' in first
    assert client.get("/boards/permuted_digits?page=0").status_code == 422
    (chosen,) = board(client, entries="best")["entries"]
    best = client.get("/boards/permuted_digits?profile=smoke").text
    assert re.findall(r'name="fingerprint" value="(\w+)"', best) == [chosen["fingerprint"][:12]]
    assert "best of 51" in best
    assert "50 entries of other settings not shown" in best


def test_another_problem_has_a_board_of_its_own(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.5], [20])
    other = result(db, "none", [0.4], [20], task={"name": "permuted_digits", "profile": "smoke", "examples": 100})
    problem = board(client)["problems"][1]
    text = client.get("/boards/permuted_digits", params={"profile": "smoke", "problem": problem["id"]}).text
    assert re.findall(r'name="fingerprint" value="(\w+)"', text) == [other[:12]]
    assert problem["title"] in text


def heads(client: TestClient, **query: str) -> str:
    """Heads of the board's columns as a person reads them."""
    text = client.get("/boards/permuted_digits", params={"profile": "smoke", **query}).text
    return " ".join(re.sub(r"<[^>]+>", " ", text.partition("<thead")[2].partition("</thead>")[0]).split())


def test_a_column_without_values_says_why(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.5, 0.6, 0.55], [None] * 3)
    assert "no seed is there yet Speed-up nothing to compare" in heads(client)
    result(db, "layer_norm", [0.6, 0.6, 0.6], [20] * 3, model={"hidden_size": 40})
    assert heads(client, entries="all").endswith("seeds there Speed-up no baseline none on this board: submit one")
    text = client.get("/boards/permuted_digits?profile=smoke&entries=all").text
    assert 'href="/submit?task=permuted_digits&amp;profile=smoke&amp;method=none&amp;seeds=5">submit one</a>' in text
    result(db, "none", [0.4, 0.4, 0.4], [30] * 3, model={"hidden_size": 48})
    assert heads(client, entries="all").endswith("Speed-up no baseline none of these settings: submit one")
    result(db, "none", [0.4, 0.4, 0.4], [30] * 3, model={"hidden_size": 40})
    assert heads(client, entries="all").endswith("seeds there Speed-up against none")
    assert heads(client, rank_by="seconds_to_target", entries="all").endswith("Speed-up against none")
