"""Numbers of papers are shown beside entries of the same problem, and are in no statistic."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.papers import find_published_results
from service.db import Database
from tests.service.leaderboards.boards import board, measured

TEXT8: dict[str, Any] = {"corpus": "text8", "sequence_length": 180, "valid_chars": 1_800_000, "test_chars": None}
TABLE_1 = [
    (0.954, "BN-LSTM", "recurrent_batch_norm"),
    (0.940, "sTANH-RNN", "none"),
    (0.914, "uRNN", "none"),
    (0.902, "LSTM", "none"),
    (0.820, "iRNN", "none"),
    (0.350, "TANH-RNN", "none"),
]
TABLE_2 = [
    ("HyperNetworks", None, "Ha et al. 2016", 1.22),
    ("HM-LSTM", None, "Chung et al. 2016", 1.24),
    ("Zoneout", None, "Krueger et al. 2016", 1.27),
    ("BN-LSTM", "recurrent_batch_norm", None, 1.32),
    ("ME n-gram", None, "Mikolov et al. 2012", 1.37),
    ("LSTM", "none", None, 1.38),
    ("Norm-stabilized LSTM", None, "Krueger and Memisevic 2016", 1.39),
    ("HF-MRNN", "none", "Mikolov et al. 2012", 1.41),
]
"""Model, method, origin and bits per character, of those on the same split of the Penn Treebank."""


def spec(task: str, profile: str = "paper", method: str = "layer_norm", **options: Any) -> dict[str, Any]:
    return {"task": {"name": task, "profile": profile, **options}, "norm": {"method": method}}


def of_papers(got: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in got["entries"] if entry["source"] == "published"]


def test_published_results_are_ranked_and_do_not_move_measured_entries(client: TestClient, db: Database) -> None:
    measured(db, spec("permuted_mnist"), 0.93)
    measured(db, spec("permuted_mnist", method="none"), 0.89)
    plain = board(client, "permuted_mnist", "paper")["entries"]
    assert [(e["rank"], e["method"], e["source"]) for e in plain] == [
        (1, "layer_norm", "measured"),
        (2, "none", "measured"),
    ]
    shown = board(client, "permuted_mnist", "paper", published=True)["entries"]
    assert [(e["rank"], e["value"]["mean"], e["model"], e["source"]) for e in shown] == [
        (1, 0.954, "BN-LSTM", "published"),
        (1, 0.940, "sTANH-RNN", "published"),
        (1, 0.93, None, "measured"),
        (2, 0.914, "uRNN", "published"),
        (2, 0.902, "LSTM", "published"),
        (2, 0.89, None, "measured"),
        (3, 0.820, "iRNN", "published"),
        (3, 0.350, "TANH-RNN", "published"),
    ]
    assert [entry for entry in shown if entry["source"] == "measured"] == plain, "in no statistic, and in no rank"
    best = shown[0]
    assert (best["citation"], best["method"], best["origin"]) == ("RBN, Table 1", "recurrent_batch_norm", None)
    assert shown[1]["origin"] == "Zhang et al. 2016", "RBN quotes it, and measured it not"
    assert (best["fingerprint"], best["n_runs"], best["experiments"], best["budget"]) == (None, 0, [], None)
    assert (best["value"]["std"], best["value"]["ci95"], best["speedup"]) == (None, None, None)


def test_published_results_all_have_rank_1_on_a_board_without_entries(client: TestClient) -> None:
    got = board(client, "permuted_mnist", "paper", published=True)["entries"]
    assert [(e["value"]["mean"], e["model"], e["method"]) for e in got] == TABLE_1
    assert {e["rank"] for e in got} == {1}


@pytest.mark.parametrize(
    ("task", "metric", "models"),
    [
        ("order_embedding", "image_r1", [("OE + LN", 0.389), ("OE", 0.378)]),
        (
            "skip_thoughts",
            "mr",
            [("Ours + LN †", 0.794), ("Ours + LN", 0.795), ("Original", 0.755), ("Ours", 0.773)],
        ),
        ("draw", "nats", [("DRAW + LN", 82.09), ("DRAW", 82.36)]),
    ],
)
def test_a_paper_that_gives_several_metrics_of_a_model_shows_them_all(
    client: TestClient, task: str, metric: str, models: list[tuple[str, float]]
) -> None:
    entries = of_papers(board(client, task, "paper", published=True))
    ranked = [e for e in entries if e["rank"] is not None]
    assert [(e["model"], e["values"][metric]["mean"]) for e in ranked] == models
    results = {r.model: r.values for r in find_published_results(task) if r.split == "test" and r.origin is None}
    ours = [e for e in entries if e["origin"] is None]
    assert [{name: value["mean"] for name, value in e["values"].items()} for e in ours] == [
        results[e["model"]] for e in ours
    ]


def test_published_results_of_validation_data_are_shown_without_a_rank(client: TestClient, db: Database) -> None:
    measured(db, spec("attentive_reader", method="none"), 0.48, "error_rate")
    first, *papers = board(client, "attentive_reader", "paper", published=True)["entries"]
    assert (first["rank"], first["source"], first["split"]) == (1, "measured", "test")
    assert {(e["rank"], e["value"], e["split"], e["citation"]) for e in papers} == {
        (None, None, "valid", "RBN, section 5.4")
    }
    assert {e["model"]: e["values"]["error_rate"]["mean"] for e in papers} == {
        "LSTM": 0.503,
        "BN-LSTM": 0.495,
        "BN-everywhere": 0.5,
        "BN-e*": 0.471,
        "BN-e**": 0.439,
    }


def test_published_results_without_the_boards_metric_are_shown_without_a_rank(client: TestClient) -> None:
    """LN Table 2 has rows of Vendrov et al. without recall at 5."""
    entries = of_papers(board(client, "order_embedding", "paper", published=True))
    unranked = {e["model"]: e["values"]["image_r1"]["mean"] for e in entries if e["rank"] is None}
    assert unranked == {
        r.model: r.values["image_r1"] for r in find_published_results("order_embedding") if r.origin is not None
    }
    assert all((e["value"] is None) == (e["rank"] is None) for e in entries)


@pytest.mark.parametrize("rank_by", ["steps_to_target", "seconds_to_target"])
def test_published_results_come_last_on_boards_ranked_by_time(client: TestClient, db: Database, rank_by: str) -> None:
    measured(db, spec("permuted_mnist"), 0.93)
    got = board(client, "permuted_mnist", "paper", published=True, rank_by=rank_by)["entries"]
    assert [(e["rank"], e["source"]) for e in got] == [(1, "measured"), *[(None, "published")] * len(TABLE_1)]


@pytest.mark.parametrize(("task", "profile"), [("permuted_mnist", "small"), ("char_lm", "smoke")])
def test_boards_of_smaller_profiles_have_no_published_results(client: TestClient, task: str, profile: str) -> None:
    assert of_papers(board(client, task, profile, published=True)) == []


def test_a_board_of_another_permutation_has_no_published_results(client: TestClient, db: Database) -> None:
    measured(db, spec("permuted_mnist", permutation_seed=3), 0.93)
    other = board(client, "permuted_mnist", "paper")["problems"][1]["id"]
    got = board(client, "permuted_mnist", "paper", problem=other, published=True)
    assert [(e["rank"], e["source"]) for e in got["entries"]] == [(1, "measured")]


def test_each_corpus_has_the_table_that_was_measured_on_it(client: TestClient, db: Database) -> None:
    measured(db, spec("char_lm", **TEXT8), 1.40, "bits_per_char")
    measured(db, spec("char_lm", corpus="pydoc"), 3.0, "bits_per_char")
    measured(db, spec("char_lm", corpus="text8"), 1.5, "bits_per_char")
    got = board(client, "char_lm", "paper", published=True)
    assert [(e["citation"], e["model"], e["value"]["mean"]) for e in of_papers(got)] == [
        ("RBN, Table 2", model, value) for model, _, _, value in TABLE_2
    ]
    assert "corpus text8, sequence_length 180, valid_chars 1800000" in [p["title"] for p in got["problems"]]
    corpora = {
        (p["options"]["corpus"], p["options"]["sequence_length"]): {
            e["citation"] for e in of_papers(board(client, "char_lm", "paper", problem=p["id"], published=True))
        }
        for p in got["problems"]
    }
    assert corpora == {
        ("ptb", 100): {"RBN, Table 2"},
        ("text8", 180): {"RBN, Table 3"},
        ("text8", 100): set(),
        ("pydoc", 100): set(),
    }


def test_quoted_models_are_shown_even_if_no_method_of_ours_describes_them(client: TestClient, db: Database) -> None:
    """All but Graves's 1.26, which was measured on another split of the Penn Treebank."""
    measured(db, spec("char_lm", method="none"), 1.24, "bits_per_char")
    got = board(client, "char_lm", "paper", published=True)["entries"]
    papers = [e for e in got if e["source"] == "published"]
    assert [(e["model"], e["method"], e["origin"], e["value"]["mean"]) for e in papers] == TABLE_2
    assert [(e["rank"], e["method"], e["value"]["mean"]) for e in got[:4]] == [
        (1, None, 1.22),
        (1, None, 1.24),
        (1, "none", 1.24),
        (2, None, 1.27),
    ]
    notes = {e["model"]: e["note"] for e in got}
    assert notes["ME n-gram"] == "A maximum-entropy model of n-grams, no recurrent network."
    assert notes["BN-LSTM"] is None


@pytest.mark.parametrize("rank_by", ["metric", "steps_to_target", "seconds_to_target"])
def test_a_model_that_no_method_describes_is_no_baseline(client: TestClient, db: Database, rank_by: str) -> None:
    measured(db, spec("char_lm", method="none"), 1.24, "bits_per_char")
    got = board(client, "char_lm", "paper", published=True, rank_by=rank_by)["entries"]
    assert {e["speedup"] and e["speedup"]["baseline"] for e in got} == {None, "none"}
    assert [e["source"] for e in got].count("published") == len(TABLE_2)


def test_results_of_the_authors_are_on_the_board_of_their_index_map_as_well(client: TestClient, db: Database) -> None:
    measured(db, spec("permuted_mnist", legacy_index_map=True), 0.93)
    _, legacy = board(client, "permuted_mnist", "paper")["problems"]
    assert legacy["title"] == "legacy_index_map true"
    of_code = of_papers(board(client, "permuted_mnist", "paper", problem=legacy["id"], published=True))
    assert [(e["model"], e["origin"], e["value"]["mean"]) for e in of_code] == [
        ("BN-LSTM", None, 0.954),
        ("LSTM", None, 0.902),
    ], "what RBN quotes is of true permutations"
    for e in of_code:
        assert "with replacement" in e["note"]
        assert "legacy_index_map: true" in e["note"]
    of_paper = of_papers(board(client, "permuted_mnist", "paper", published=True))
    own = [e for e in of_paper if e["origin"] is None]
    assert [(e["model"], e["value"], e["note"]) for e in own] == [(e["model"], e["value"], e["note"]) for e in of_code]
    assert [e["note"] for e in of_paper if e["origin"]] == [None] * 4


def test_every_published_number_with_a_rank_names_a_problem_that_exists(client: TestClient) -> None:
    """The task of each number exists, and its options resolve."""
    for task in client.get("/v1/tasks").json()["items"]:
        if task["kind"] == "training":
            own = of_papers(board(client, task["name"], "paper", published=True))
            possible = [
                r
                for r in find_published_results(task["name"])
                if r.can_be_ranked and task["metric"]["name"] in r.values
            ]
            assert sum(e["rank"] is not None for e in own) == sum(not r.options for r in possible), task["name"]
