"""RankTable of methods."""

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.pages.method_ranks import BoardColumn, MethodRank, RankTable, column
from tests.service.leaderboards.boards import board as board_of
from tests.service.leaderboards.boards import result
from tests.service.leaderboards.test_standing import FEW, FIRST, LOST, TIED
from tests.service.leaderboards.test_verdicts import board


def read(client: TestClient, path: str) -> str:
    """Text of a page as a person reads it, in one line."""
    text = client.get(path, headers={"Accept": "text/html"}).text.replace("<wbr>", "")
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


DIVERGED, THIRD = MethodRank(None, [], None), MethodRank(3, [], 0.5)


def test_all_diverged_is_true_if_no_entry_of_the_tasks_has_a_value() -> None:
    columns = [
        BoardColumn("lost", "accuracy", {"none": DIVERGED, "layer_norm": DIVERGED}),
        BoardColumn("won", "accuracy", {"none": THIRD}),
    ]
    found = RankTable(["none", "layer_norm"], columns)
    assert found.all_diverged(["lost"])
    assert not found.all_diverged(["lost", "won"])
    assert not found.all_diverged(["unmeasured"])


def test_a_column_has_the_shared_ranks_of_the_board() -> None:
    found = column(board(FIRST, *TIED, FEW, LOST)).ranks
    shown = {method: (one.rank, len(one.tied_with)) for method, one in found.items()}
    tied = {one.method: (2, 2) for one in TIED}
    assert shown == {"layer_norm": (1, 0), **tied, "batch_norm": (None, 0), "dynamic_tanh": (None, 0)}
    assert found["batch_norm"].few is not None
    assert found["dynamic_tanh"].few is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_pages_and_report_cards_say_what_the_board_says(client: TestClient, db: Database) -> None:
    """Means alone would rank these entries first to fourth, and the diverged entry fourth of four."""
    result(db, "layer_norm", [0.90, 0.901, 0.899, 0.90, 0.902], [10] * 5, training={"optimizer": {"lr": 0.004}})
    result(db, "rms_norm", [0.75, 0.70, 0.72, 0.69, 0.74], [10] * 5)
    result(db, "none", [0.70, 0.74, 0.69, 0.75, 0.70], [10] * 5)
    result(db, "weight_norm", [None, None, None], [None] * 3)
    entries = {entry["method"]: entry for entry in board_of(client)["entries"]}
    assert [entries[one]["tie_group"] for one in ("layer_norm", "rms_norm", "none")] == [1, 2, 2]

    def card(method: str) -> dict[str, object]:
        [found] = client.get(f"/v1/methods/{method}/report-card").json()["standings"]
        return {name: found[name] for name in ("rank", "shared_rank", "tied_with", "name")}

    tuned = "layer_norm (lr 0.004)"
    assert card("layer_norm") == {"rank": 1, "shared_rank": 1, "tied_with": [], "name": tuned}
    assert card("rms_norm") == {"rank": 2, "shared_rank": 2, "tied_with": ["none"], "name": "rms_norm"}
    assert card("none") == {"rank": 3, "shared_rank": 2, "tied_with": ["rms_norm"], "name": "none"}
    assert card("weight_norm") == {"rank": None, "shared_rank": None, "tied_with": [], "name": "weight_norm"}
    for path in ("/", "/boards?profile=smoke", "/methods?profile=smoke"):
        told = read(client, path)
        assert "layer_norm 1 90.04% lr 0.004" in told
        assert "rms_norm 2 tied 72.00%" in told
        assert "none 2 tied 71.60%" in told
        assert "weight_norm all runs diverged" in told
    assert "All of its runs diverged, on its only board." in read(client, "/methods/weight_norm")
    assert "Its best rank is 2 of 4, tied with rms_norm (permuted_digits, smoke)." in read(client, "/methods/none")
