"""Leaderboards, report cards and the catalogue are shown."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app
from normbench.display.numbers import short_fingerprints
from normcore.data.registry import DATASETS
from normcore.events import Analysed
from normcore.run import run
from normcore.spec import TASKS, resolve
from normcore.spec.methods import METHODS
from service.db import Database
from service.experiments import lifecycle, submission
from tests.normbench.cli.commands import from_json, normbench
from tests.service.leaderboards.boards import measured, result
from tests.service.sample_runs import claimed, finished


def test_a_leaderboard_is_shown_as_a_table_or_as_json(api: str, spec_file: Path, db: Database) -> None:
    normbench("submit", spec_file)
    for value in (0.8, 0.9):
        finished(db, claimed(db).lease, value=value)
    board = from_json("leaderboard", "permuted_digits", "--profile", "smoke", "--rank-by", "steps_to_target")
    assert board["rank_by"] == "steps_to_target"
    assert board["entries"][0]["value"]["mean"] == pytest.approx(0.85)
    shown = normbench("leaderboard", "permuted_digits", "--profile", "smoke")
    assert "layer_norm" in shown
    assert "0.85" in shown
    result = CliRunner().invoke(app, ["leaderboard", "permuted_digits", "--profile", "smoke", "--published"])
    assert "no paper has published numbers for this problem of permuted_digits at smoke" in result.stderr
    empty = CliRunner().invoke(app, ["leaderboard", "permuted_digits", "--profile", "paper"])
    assert (empty.exit_code, empty.stdout) == (0, "")
    lines = "normbench leaderboard permuted_digits --profile smoke\n"
    assert empty.stderr == f"note: permuted_digits has no entries at paper; there are some here:\n  {lines}"


def test_a_board_that_is_empty_names_the_problems_that_have_entries(api: str, db: Database) -> None:
    corpus = {"task": {"name": "char_lm", "profile": "smoke", "sequence_length": 40}}
    measured(db, corpus, 2.5, "bits_per_char")
    empty = CliRunner().invoke(app, ["leaderboard", "char_lm", "--profile", "smoke"])
    assert empty.stdout == ""
    told = r"note: char_lm has no entries at smoke; there are some here:\n  (.*) --problem (\w+)    # (.*)\n"
    found = re.fullmatch(told, empty.stderr)
    assert found, empty.stderr
    assert found[1] == "normbench leaderboard char_lm --profile smoke"
    assert "sequence_length" in found[3]
    assert "2.500" in normbench(*f"{found[1]} --problem {found[2]}".split()[1:])


def test_a_problem_of_another_profile_is_refused_with_the_command_of_its_board(api: str, db: Database) -> None:
    measured(db, {"task": {"name": "permuted_digits", "profile": "smoke", "permutation_seed": 7}}, 0.5)
    [listed] = Client(api).leaderboards()
    id = listed["problem"]["id"]
    told = normbench("leaderboard", "permuted_digits", "--problem", id, status=2).splitlines()
    assert told[0].startswith(f"normbench: problem: this board has no '{id}'; ")
    command = f"normbench leaderboard permuted_digits --profile smoke --problem {id}    # permutation_seed 7"
    assert told[1:] == [f"'{id}' is a problem of another board:", f"  {command}"]
    assert len(normbench("leaderboard", "permuted_digits", "--problem", "0" * 16, status=2).splitlines()) == 1


def test_fingerprints_are_shortened_as_far_as_they_differ_and_shown_if_they_fit(
    api: str, spec_file: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprint = from_json("submit", spec_file)["fingerprint"]
    for value in (0.8, 0.9):
        finished(db, claimed(db).lease, value=value)
    [row] = [
        line
        for line in normbench("leaderboard", "permuted_digits", "--profile", "smoke").splitlines()
        if "layer_norm" in line and "[" in line
    ]
    assert row.split()[-1] == fingerprint[:8]
    monkeypatch.setenv("COLUMNS", "60")
    assert fingerprint[:8] not in normbench("leaderboard", "permuted_digits", "--profile", "smoke")
    assert short_fingerprints(["0123456789ab", "0123456789cd", "f" * 12]) == {
        "0123456789ab": "0123456789a",
        "0123456789cd": "0123456789c",
        "f" * 12: "f" * 11,
    }


def test_a_board_can_be_of_an_earlier_time_or_of_the_best_of_each_method(
    api: str, spec_file: Path, db: Database
) -> None:
    normbench("submit", spec_file)
    finished(db, claimed(db).lease, value=0.8)
    best = from_json("leaderboard", "permuted_digits", "--profile", "smoke", "--best")
    assert [entry["best_of"] for entry in best["entries"]] == [1]
    early = from_json("leaderboard", "permuted_digits", "--profile", "smoke", "--as-of", "2020-01-01T00:00:00Z")
    assert (early["entries"], early["as_of"]) == ([], "2020-01-01T00:00:00Z")
    wrong = CliRunner().invoke(app, ["leaderboard", "permuted_digits", "--as-of", "soon"])
    assert wrong.exit_code != 0
    assert "as_of" in wrong.stderr


def test_published_numbers_are_shown_with_the_work_that_they_are_quoted_from(api: str, db: Database) -> None:
    measured(db, {"task": {"name": "char_lm", "profile": "paper"}}, 1.24, "bits_per_char")
    result = CliRunner().invoke(app, ["leaderboard", "char_lm", "--profile", "paper", "--published"])
    rows = [line.split() for line in result.stdout.splitlines()]
    told = [" ".join(row) for row in rows]
    assert any(row.startswith("1 HyperNetworks (RBN, Table 2) published, quoted from Ha et al. 2016") for row in told)
    assert any(row.startswith("2 BN-LSTM (RBN, Table 2) published 1.320") for row in told)
    assert result.stderr == ""
    best = from_json("leaderboard", "char_lm", "--profile", "paper", "--published")["entries"][0]
    assert (best["method"], best["origin"]) == (None, "Ha et al. 2016")
    assert best["note"] == "An architecture of its own; RBN does not say how it is normalized."


@pytest.mark.parametrize("profile", ["small", "smoke"])
def test_an_empty_board_says_where_published_numbers_are(api: str, profile: str) -> None:
    result = CliRunner().invoke(app, ["leaderboard", "char_lm", "--profile", profile, "--published"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"char_lm has no entries at {profile}" in result.stderr
    assert (
        f"note: no paper has published numbers for this problem of char_lm at {profile}; papers' numbers are on"
        " the board of the problem and profile that they were measured on; try --profile paper\n"
    ) in result.stderr
    assert "no paper" not in CliRunner().invoke(app, ["leaderboard", "char_lm", "--profile", profile]).stderr


def test_a_board_on_a_part_of_a_data_set_says_so_under_its_title(api: str, db: Database) -> None:
    task = {"name": "char_lm", "profile": "smoke", "corpus": "text8_prefix"}
    measured(db, {"task": task}, 3.0, "bits_per_char")
    [listed] = Client().leaderboards()
    shown = normbench("leaderboard", "char_lm", "--profile", "smoke", "--problem", listed["problem"]["id"])
    title, note = shown.splitlines()[:2]
    assert title.startswith("char_lm (smoke, corpus text8_prefix): ")
    assert note == DATASETS["text8_prefix"].description == listed["problem"]["note"]


def test_a_report_card_shows_table_1_as_measured(api: str, db: Database) -> None:
    analysis = resolve({"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}})
    *_, analysed = run(analysis, 0)
    assert isinstance(analysed, Analysed)
    with db.transaction() as session:
        submission.submit(session, analysis, memory_bytes=None, request_digest="")
    lease = claimed(db).lease
    with db.transaction() as session:
        lifecycle.finish_analysis(session, lease, analysed)

    lines = [line.split() for line in normbench("report-card", "layer_norm", "--no-measure").splitlines()]
    table_1 = {
        tuple(line[:-3]): (line[-3], line[-1]) for line in lines if line[-4:-3] in (["re-scaling"], ["re-centering"])
    }
    assert table_1 == {
        ("weight", "matrix", "re-scaling"): ("yes", "yes"),
        ("weight", "matrix", "re-centering"): ("yes", "yes"),
        ("weight", "vector", "re-scaling"): ("no", "no"),
        ("dataset", "re-scaling"): ("yes", "yes"),
        ("dataset", "re-centering"): ("no", "no"),
        ("single", "case", "re-scaling"): ("yes", "yes"),
    }
    assert ["step_cost", "in", "gru", "is", "not", "measured", "yet"] in lines
    card = from_json("report-card", "layer_norm", "--no-measure")
    assert len(card["missing"]) == 9
    assert "no_norm" in normbench("report-card", "no_norm", status=2)


def test_the_catalogue_is_shown(api: str) -> None:
    assert [task["name"] for task in from_json("tasks")] == list(TASKS)
    assert [method["name"] for method in from_json("methods")] == list(METHODS)
    assert "permuted_digits" in normbench("tasks")
    assert "recurrent_batch_norm" in normbench("methods")


def test_methods_over_all_tasks_are_shown_with_what_is_left_out(api: str, db: Database) -> None:
    result(db, "layer_norm", [0.8, 0.8], [10, 10])
    result(db, "none", [0.8, 0.8], [25, 25])
    shown = normbench("leaderboard", "overall", "--profile", "smoke")
    assert shown.splitlines()[0].startswith("all tasks (smoke): updates to the target, divided by the fastest method's")
    rows = [line.split() for line in shown.splitlines()]
    assert ["1", "layer_norm", "1.000", "1", "of", "1", "1.00x"] in rows
    assert ["2", "none", "0.500", "0", "of", "1", "2.50x"] in rows
    assert "a third method can turn two others round" in shown
    assert "Left out (no entries): " in shown
    assert from_json("leaderboard", "overall", "--profile", "smoke") == Client(api).overall(profile="smoke")
    told = normbench("leaderboard", "overall", "--best", "--baseline", "none", status=2)
    assert "--baseline, --best: only for the board of one task" in told
    assert "rank_by" in normbench("leaderboard", "overall", "--rank-by", "metric", status=2)
