"""A board ranks the entries of one problem: the task's own options, and its data."""

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.data.registry import DATASETS, pin
from normcore.problem import own_problem, problem_of
from normcore.spec import digest, resolve
from service.db import Database
from service.experiments import submission
from service.leaderboards.tables import Entry
from tests.service.leaderboards.boards import board, ended, measured, result
from tests.service.sample_runs import submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def permuted(seed: int) -> dict[str, Any]:
    return {"name": "permuted_digits", "profile": "smoke", "permutation_seed": seed}


def test_another_permutation_is_another_problem_with_its_own_board(client: TestClient, db: Database) -> None:
    own = result(db, "layer_norm", [0.8], [10])
    other = result(db, "layer_norm", [0.9], [10], task=permuted(7))
    result(db, "none", [0.5], [10], task=permuted(7))
    got = board(client)
    first, second = got["problems"]
    assert (first["title"], second["title"]) == ("the profile's own", "permutation_seed 7")
    assert first["id"] == own_problem("permuted_digits", "smoke").id
    assert second["id"] == problem_of(resolve({"task": permuted(7)}).task).id  # type: ignore[arg-type]
    assert second["options"] == {"examples": None, "permutation_seed": 7, "legacy_index_map": False}
    assert got["problem"] == first, "the profile's own, unless another is asked for"
    assert [(e["rank"], e["fingerprint"]) for e in got["entries"]] == [(1, own)]
    of_other = board(client, problem=second["id"])
    assert (of_other["problem"], of_other["problems"]) == (second, [first, second])
    assert [(e["rank"], e["method"], e["fingerprint"]) for e in of_other["entries"]][:1] == [(1, "layer_norm", other)]
    assert len(of_other["entries"]) == 2
    assert board(client, problem=first["id"]) == got
    assert {(item["problem"]["id"], item["n_entries"]) for item in client.get("/v1/leaderboards").json()["items"]} == {
        (first["id"], 1),
        (second["id"], 2),
    }


def test_the_text_that_pictures_show_does_not_change_the_problem() -> None:
    tasks = [resolve({"task": {"name": "handwriting", "text": text}}).task for text in ("one", "two")]
    ours, theirs = (problem_of(task) for task in tasks)  # type: ignore[arg-type]
    assert ours == theirs == own_problem("handwriting", "small")
    assert set(ours.options) == {"dataset", "points", "examples"}


def test_the_profiles_own_problem_is_listed_first_even_without_entries(client: TestClient, db: Database) -> None:
    result(db, "none", [0.5], [10], task=permuted(7))
    got = board(client)
    assert [problem["title"] for problem in got["problems"]] == ["the profile's own", "permutation_seed 7"]
    assert got["entries"] == []


def test_an_experiment_says_which_board_it_is_on(client: TestClient, db: Database) -> None:
    experiment = submitted(db, "none", task=permuted(7))
    shown = client.get(f"/v1/experiments/{experiment.id}").json()
    ended(db, experiment, {"value": 0.5})
    of_its_own = board(client, problem=shown["problem"])
    assert [entry["experiments"] for entry in of_its_own["entries"]] == [[experiment.id]]
    assert shown["budget"] == of_its_own["budget"]


@SQLITE
def test_an_unknown_problem_is_refused_with_the_problems_of_the_board(client: TestClient, db: Database) -> None:
    result(db, "none", [0.5], [10], task=permuted(7))
    known = [problem["id"] for problem in board(client)["problems"]]
    answer = client.get("/v1/leaderboards/permuted_digits", params={"profile": "smoke", "problem": "a" * 16})
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["loc"] == ["problem"]
    assert all(id in error["msg"] for id in known)
    answer = client.get("/v1/leaderboards/permuted_digits", params={"profile": "paper", "problem": known[1]})
    assert answer.status_code == 422, "it is a problem of another profile"


def test_another_text_in_a_file_of_the_same_name_is_another_problem(
    client: TestClient, db: Database, tmp_path: Path
) -> None:
    written = {"task": {"name": "char_lm", "profile": "smoke", "corpus": "file", "file": "mine.txt"}}
    problems = set()
    for n, text in enumerate(("ab" * 3000, "ba" * 3000)):
        (tmp_path / "mine.txt").write_text(text)
        spec = pin(resolve(written), tmp_path)
        with db.transaction() as session:
            experiment, _ = submission.submit(session, spec, memory_bytes=None, request_digest=digest(n))
            assert experiment.runs
        ended(db, experiment, {"metric": "bits_per_char", "value": 1.0 + n})
        problems.add(experiment.problem)
    got = board(client, "char_lm")
    assert len(problems) == 2
    assert problems == {problem["id"] for problem in got["problems"][1:]}
    assert got["entries"] == []
    for problem in got["problems"][1:]:
        assert problem["title"] == f"corpus file, file mine.txt, sha256 {problem['options']['sha256'][:12]}…"
        assert len(board(client, "char_lm", problem=problem["id"])["entries"]) == 1


def test_other_data_under_the_same_options_is_another_problem(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documentation of another version of Python is another data set, and so another problem."""
    written = {"task": {"name": "char_lm", "profile": "smoke"}}
    own = measured(db, written, 3.0, "bits_per_char")
    with db.transaction() as session:
        entry = session.get_one(Entry, own)
        options = entry.options
    with monkeypatch.context() as patched:
        patched.setattr("normcore.problem.checksums", lambda name: {f"{name} 2.7": "0" * 64})
        with db.transaction() as session:
            experiment, _ = submission.submit(session, resolve(written), memory_bytes=None, request_digest="")
            assert experiment.runs
    assert experiment.problem != own_problem("char_lm", "smoke").id
    with db.transaction() as session:
        session.add(_entry_on(experiment.problem, options, session.get_one(Entry, own)))
    first, second = board(client, "char_lm")["problems"]
    assert (first["title"], second["title"]) == ("the profile's own", f"other data ({experiment.problem})")
    assert second["options"] == first["options"]
    of_other = board(client, "char_lm", problem=experiment.problem)["entries"]
    assert [entry["fingerprint"] for entry in of_other] == ["f" * 64]


@pytest.mark.parametrize(
    ("options", "dataset", "metric"),
    [
        ({"name": "char_lm", "profile": "paper", "corpus": "text8_prefix"}, "text8_prefix", "bits_per_char"),
        ({"name": "convnet", "profile": "smoke", "dataset": "cifar10_subset"}, "cifar10_subset", "error_rate"),
    ],
    ids=["text8_prefix", "cifar10_subset"],
)
def test_a_problem_on_part_of_a_data_set_says_that_nothing_published_compares(
    client: TestClient, db: Database, options: dict[str, Any], dataset: str, metric: str
) -> None:
    measured(db, {"task": options}, 1.5, metric)
    own, part = board(client, options["name"], options["profile"])["problems"]
    assert own["note"] is None
    assert part["note"] == DATASETS[dataset].description
    assert "Compares with no published result" in part["note"]
    assert board(client, options["name"], options["profile"], problem=part["id"])["problem"] == part
    [item] = client.get("/v1/leaderboards").json()["items"]
    assert item["problem"] == part
    [standing] = client.get("/v1/methods/none/report-card").json()["standings"]
    assert standing["problem"] == part


@SQLITE
@pytest.mark.parametrize("corpus", ["ptb", "text8", "pydoc"])
def test_a_problem_on_a_whole_data_set_needs_no_note(client: TestClient, db: Database, corpus: str) -> None:
    measured(db, {"task": {"name": "char_lm", "profile": "paper", "corpus": corpus}}, 1.5, "bits_per_char")
    assert {problem["note"] for problem in board(client, "char_lm", "paper")["problems"]} == {None}


@SQLITE
def test_a_problem_with_an_option_that_is_gone_is_shown_without_a_note(client: TestClient, db: Database) -> None:
    own = measured(db, {"task": {"name": "char_lm", "corpus": "text8_prefix"}}, 1.5, "bits_per_char")
    with db.transaction() as session:
        entry = session.get_one(Entry, own)
        entry.options = {**entry.options, "gone": True}
    assert board(client, "char_lm", "small")["problems"][1]["note"] is None


def _entry_on(problem: str | None, options: dict[str, Any], like: Entry) -> Entry:
    columns = {column.key: getattr(like, column.key) for column in Entry.__table__.columns}
    return Entry(**{**columns, "fingerprint": "f" * 64, "problem": problem, "options": options})


def test_a_problem_is_listed_once_though_an_option_was_added_since(client: TestClient, db: Database) -> None:
    """Entries that were pooled before the option was added lack this option."""
    own = result(db, "none", [0.5], [10])
    with db.transaction() as session:
        like = session.get_one(Entry, own)
        session.add(_entry_on(like.problem, {"permutation_seed": 0}, like))
    [item] = client.get("/v1/leaderboards").json()["items"]
    assert (item["n_entries"], item["n_runs"], item["problem"]["title"]) == (2, 2, "the profile's own")
    assert len(board(client)["problems"]) == 1


def test_a_report_card_has_a_standing_for_each_problem(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.8], [10])
    result(db, "layer_norm", [0.7], [10], task=permuted(7))
    result(db, "none", [0.9], [10], task=permuted(7))
    standings = client.get("/v1/methods/layer_norm/report-card").json()["standings"]
    assert {(s["problem"]["title"], s["rank"], s["of"]) for s in standings} == {
        ("the profile's own", 1, 1),
        ("permutation_seed 7", 2, 2),
    }


def test_an_entry_of_a_task_that_is_gone_is_on_no_list(client: TestClient, db: Database) -> None:
    own = result(db, "none", [0.5], [10])
    with db.transaction() as session:
        session.get_one(Entry, own).task = "a_task_of_a_package_that_is_gone"
    assert client.get("/v1/leaderboards").json()["items"] == []
    assert client.get("/v1/methods/none/report-card").status_code == 200
