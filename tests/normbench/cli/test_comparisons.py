"""Comparisons on a terminal."""

import re

import pytest
from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app
from service.db import Database
from tests.normbench.cli.commands import from_json, normbench
from tests.service.comparisons.test_routes import trained
from tests.service.leaderboards.boards import measured
from tests.service.sample_runs import MAX_STEPS, submitted_result


def test_entries_stand_side_by_side_as_a_table_or_as_json(api: str, db: Database) -> None:
    none = trained(db, "none", [0.70, 0.72, 0.74], [20, 22, 24])
    norm = trained(db, "layer_norm", [0.80, 0.82, 0.81], [10, 11, 12])
    shown = normbench("compare", none[:8], norm[:8]).splitlines()
    assert shown[0].startswith("permuted_digits (smoke): higher is better")
    rows = [line.split() for line in shown]
    [baseline] = [row for row in rows if row[:1] == [f"{none[:8]}*"]]
    [own] = [row for row in rows if row[:1] == [norm[:8]]]
    assert baseline[1:3] == ["none", "0.720"]
    assert (own[1:3], own[5]) == (["layer_norm", "0.810"], "+0.090")
    assert "2.00x" in own
    assert "better" in own
    assert "diverged" not in "".join(shown)
    found = from_json("compare", none, norm, "--baseline", norm)
    assert found["baseline"] == norm
    assert found == Client(api).compare(none, norm, baseline=norm)


def test_diverged_seeds_and_entries_over_budget_are_named(api: str, db: Database) -> None:
    none = trained(db, "none", [0.80, 0.82, 0.81, 0.84, 0.83], [20] * 5)
    norm = trained(db, "layer_norm", [0.95, 0.96, None, None, None], [10] * 5)
    more = trained(db, "rms_norm", [0.95, 0.96], [10] * 2, training={"max_steps": 2 * MAX_STEPS})
    shown = [" ".join(line.split()) for line in normbench("compare", none, norm, more).splitlines()]
    [baseline, own, over] = [line for line in shown if line[:8] in (none[:8], norm[:8], more[:8])]
    assert " – – 1 [1, 2] " in baseline
    assert "], 3 of 5 diverged, score 0.442 " in own
    assert "], not shown " in own
    assert " 2 [1, 2] " in own
    assert "over budget" in over
    p_holm = from_json("compare", none, norm, more)["entries"][2]["difference"]["p_holm"]
    assert f"], better {p_holm:.2g} – " in over, "it has no rank"


def test_an_unknown_entry_is_named(api: str, db: Database) -> None:
    none = trained(db, "none", [0.7], [20])
    result = CliRunner().invoke(app, ["compare", none, "0" * 8])
    assert result.exit_code != 0
    assert "no entry has a fingerprint that begins with 00000000" in result.stderr


def test_methods_of_a_board_stand_for_their_best_entries(api: str, db: Database) -> None:
    none = trained(db, "none", [0.70, 0.72], [20, 22])
    norm = trained(db, "layer_norm", [0.80, 0.82], [10, 11])
    tuned = trained(db, "layer_norm", [0.90, 0.92], [10, 11], training={"optimizer": {"lr": 0.004}})
    board = Client(api).leaderboard("permuted_digits", profile="smoke", entries="best")
    best = {entry["method"]: entry["fingerprint"] for entry in board["entries"]}
    assert best["layer_norm"] in (norm, tuned)
    of = ["--task", "permuted_digits", "--profile", "smoke"]
    found = from_json("compare", "none", "layer_norm", *of, "--baseline", "layer_norm")
    assert {entry["method"]: entry["fingerprint"] for entry in found["entries"]} == {**best, "none": none}
    assert found["baseline"] == best["layer_norm"]
    mixed = from_json("compare", "none", tuned[:10], *of)
    assert [entry["fingerprint"] for entry in mixed["entries"]] == [none, tuned]
    refused = "'rms_norm' has no entry at permuted_digits smoke; methods with entries: 'layer_norm', 'none'\n"
    assert normbench("compare", "none", "rms_norm", *of, status=2) == f"normbench: {refused}"


def test_methods_without_a_task_are_refused_with_the_command_that_names_it(api: str) -> None:
    told = normbench("compare", "0123456789ab", "layer_norm", "--baseline", "none", status=2)
    assert told.startswith("normbench: 'layer_norm' is not a fingerprint")
    assert "name the task of its board" in told
    assert told.endswith("\n  normbench compare 0123456789ab layer_norm --baseline none --task TASK\n")


@pytest.mark.parametrize("entries", [["none", "layer_norm", "none"], ["0123456789ab", "0123456789ab"]])
def test_an_entry_that_is_given_twice_is_named(nobody: None, entries: list[str]) -> None:
    told = f"normbench: method or fingerprint '{entries[0]}' is given twice; give two or more different entries\n"
    assert normbench("compare", *entries, "--task", "permuted_digits", status=2) == told


def test_a_board_without_entries_is_refused_with_the_boards_that_have_entries(api: str, db: Database) -> None:
    command = ["compare", "none", "layer_norm", "--task", "permuted_digits"]
    assert normbench(*command, status=2) == "normbench: there are no entries at permuted_digits small\n"
    trained(db, "none", [0.7], [20])
    trained(db, "layer_norm", [0.8], [10])
    longer = {"name": "permuted_digits", "profile": "smoke", "permutation_seed": 7}
    trained(db, "none", [0.6], [20], task=longer)
    submitted_result(db)
    measured(db, {"task": {"name": "char_lm", "profile": "smoke"}}, 2.5, "bits_per_char")
    first, *elsewhere = normbench(*command, status=2).splitlines()
    assert first == "normbench: there are no entries at permuted_digits small; there are some here:"
    own = f"  normbench {' '.join(command)} --profile smoke"
    assert len(elsewhere) == 2
    assert own in elsewhere
    [other] = [line for line in elsewhere if line != own]
    assert re.fullmatch(rf"{re.escape(own)} --problem \w+    # permutation_seed 7", other)
    assert from_json(*own.split()[1:])["profile"] == "smoke"
    problem = ["--profile", "smoke", "--problem", other.split()[-4]]
    refused = "'layer_norm' has no entry at permuted_digits smoke; methods with entries: 'none'\n"
    assert normbench(*command, *problem, status=2).endswith(refused)


def test_a_board_with_claims_alone_has_no_measured_entries(api: str, db: Database) -> None:
    submitted_result(db)
    told = normbench("compare", "none", "layer_norm", "--task", "permuted_digits", "--profile", "smoke", status=2)
    assert told == "normbench: there are no measured entries at permuted_digits smoke\n"


def test_a_comparison_says_for_which_pairs_p_was_corrected(api: str, db: Database) -> None:
    none = trained(db, "none", [0.70, 0.72, 0.74], [20, 22, 24])
    norm = trained(db, "layer_norm", [0.80, 0.82, 0.81], [10, 11, 12], training={"optimizer": {"lr": 0.004}})
    best = trained(db, "rms_norm", [0.95, 0.951, 0.952], [10, 11, 12])
    told = normbench("compare", none, norm, best)
    assert "p: after Holm's correction for all 3 pairs of 3 entries; the table has the 2 with the baseline" in told
    above = {entry["method"]: entry["above"] for entry in from_json("compare", none, norm, best)["entries"]}
    p = above["rms_norm"][norm]
    assert f"of the others: rms_norm is better than layer_norm (lr 0.004) (p {p:.2g})\n" in told
    like = trained(db, "weight_norm", [0.80, 0.82, 0.815], [10, 11, 12])
    assert "of the others no difference is shown\n" in normbench("compare", none, norm, like)
    two = normbench("compare", none, norm)
    assert "p: of one pair, not corrected\n" in two
    assert "of the others" not in two


def test_a_score_that_is_not_the_mean_is_shown(api: str, db: Database) -> None:
    """Hand computation: (.1 + .4) / 2, where .02 counts as .1; the mean is .21."""
    none = trained(db, "none", [0.02, 0.40], [20] * 2)
    norm = trained(db, "layer_norm", [0.30, 0.40], [10] * 2)
    shown = [" ".join(line.split()) for line in normbench("compare", none, norm).splitlines()]
    [capped, usual] = [line for line in shown if line[:8] in (none[:8], norm[:8])]
    assert "0.210 [0.000, 1.000], score 0.250 " in capped
    assert "score" not in usual
