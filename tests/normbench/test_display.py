"""Lists of experiments and leaderboards as a terminal shows them."""

import io
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from normbench.display.claims import claims
from normbench.display.comparison import comparison
from normbench.display.experiments import experiments, runs
from normbench.display.leaderboard import leaderboard
from normbench.display.numbers import format_difference, interval
from normbench.display.report_card import render_report_card
from normbench.display.runs import history
from normbench.display.table import Table
from normcore.data.registry import DATASETS
from service.comparisons.examples import COMPARISON
from service.report_cards.examples import REPORT_CARD

BROKE = {"series": "train.loss", "step": 10, "last_finite": {"train.loss": 2.30581}}
AGAIN = "To get the times, submit the same specs again while nothing else runs. --json names the entries."
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def lines(table: Table, width: int = 80) -> list[list[str]]:
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return [line.split() for line in console.file.getvalue().splitlines()]


def shown(*entries: dict[str, Any], **parts: Any) -> tuple[Table, list[str]]:
    """Table of a board with these entries, and the names of its columns."""
    board: Any = {
        "task": "permuted_digits",
        "profile": "small",
        "metric": "accuracy",
        "unit": "",
        "target": 0.5,
        "rank_by": "metric",
        "verdict": None,
        "problem": {"id": "a", "note": None},
        "problems": [{"id": "a", "note": None}],
        "direction": "maximize",
        "baseline": "none",
        "entries": list(entries),
        **parts,
    }
    table = leaderboard(board)
    return table, [column.name for column in table.columns]


def summary(method: str = "layer_norm", created_at: str = "2026-11-22T11:59:18.5Z") -> Any:
    spec = {"task": {"name": "permuted_digits", "profile": "small"}, "norm": {"method": method}}
    id = "exp_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    return {
        "id": id,
        "name": method,
        "spec": spec,
        "state": "running",
        "runs_by_state": {"running": 2},
        "n_diverged": 0,
        "created_at": created_at,
    }


@pytest.mark.parametrize(
    ("created_at", "age"),
    [
        ("2026-11-22T12:00:01Z", "0 s"),
        ("2026-11-22T11:59:18.5Z", "41 s"),
        ("2026-11-22T11:05:00Z", "55 min"),
        ("2026-11-22T03:00:00+00:00", "9 h"),
        ("2026-11-19T11:00:00Z", "3 d"),
    ],
)
def test_an_experiment_is_listed_with_its_size_and_age(created_at: str, age: str) -> None:
    row = lines(experiments([summary(created_at=created_at)], NOON), width=120)[-1]
    assert row[1:] == ["permuted_digits", "small", "layer_norm", "running", *age.split(), "2", "running"]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, "diverged at step 40"),
        ({"value": None}, "diverged at step 40"),
        ({"divergence": None}, "diverged at step 40"),
        ({"divergence": BROKE}, "diverged at step 10: train.loss was no longer finite; before that it was 2.306"),
        ({"divergence": {**BROKE, "last_finite": {}}}, "diverged at step 10: train.loss was no longer finite"),
    ],
)
def test_a_run_that_diverged_says_what_broke(result: Any, told: str) -> None:
    run: Any = {"id": "run_1", "seed": 0, "state": "succeeded", "attempt": 1, "history": [], "outcome": "diverged"}
    run |= {"error": None, "created_at": "2026-11-22T11:59:18Z", "started_at": None, "finished_at": None}
    run |= {"resumed_from_step": None, "result": result, "progress": {"step": 40, "max_steps": 40}}
    assert history(run).rows[-1][-1] == f"succeeded: {told}"


@pytest.mark.parametrize("by_state", [{"running": 2}, {"running": 2, "cancelled": 1, "succeeded": 1}])
def test_at_80_columns_experiments_are_a_table_with_their_runs_whatever_the_method(by_state: dict[str, int]) -> None:
    """The counts of runs say what their state says, so the state is left out before them."""
    listed: Any = [{**summary(method), "runs_by_state": by_state} for method in ("layer_norm", "recurrent_batch_norm")]
    short, long = (lines(experiments([one], NOON)) for one in listed)
    assert short[1] == ["id", "task", "method", "age", "runs"]
    assert long[1] == ["id", "task", "method", "runs"]
    assert long[3][1:] == ["permuted_digits", "recurrent_batch_norm", "2", "running"]
    assert long[4][0] == "small"


def test_a_problems_note_stands_in_lines_of_80_columns_under_the_title() -> None:
    note = DATASETS["cifar10_subset"].description
    other = {"id": "b", "title": "dataset cifar10_subset", "note": note}
    table = lines(shown(entry(), problem=other)[0])
    head = next(k for k, line in enumerate(table) if line[:1] == ["#"])
    told = [" ".join(line) for line in table[:head]]
    assert f"on validation data {note}" in " ".join(told)
    assert max(map(len, told)) <= 80
    assert any(line.startswith("A part of CIFAR-10") for line in told), "it has lines of its own"


def test_a_number_that_a_paper_quotes_names_its_original_work() -> None:
    quoted = {"name": "HM-LSTM (RBN, Table 2)", "citation": "RBN, Table 2", "origin": "Chung et al. 2016"}
    own = {"name": "BN-LSTM (RBN, Table 2)", "citation": "RBN, Table 2", "source": "published"}
    table, _ = shown(entry(1, **quoted, source="published"), entry(2, **own))
    first, second = (" ".join(line) for line in lines(table, width=150)[-2:])
    assert first.startswith("1 HM-LSTM (RBN, Table 2) published, quoted from Chung et al. 2016 0.500")
    assert second.startswith("2 BN-LSTM (RBN, Table 2) published 0.500")


def entry(rank: int | None = 1, **parts: Any) -> dict[str, Any]:
    times = {"steps_to_target": None, "seconds_to_target": None, "speedup": None, "kernel": None}
    value = {"mean": 0.5, "ci95": [0.4, 0.6]}
    seeds = {"n_seeds": 3, "n_diverged": 0, "source": "measured", "split": "test", "over_budget": False}
    whose = {"citation": None, "model": None, "origin": None, "note": None}
    about: dict[str, Any] = {
        "rank": rank,
        "rank_ci": None,
        "method": "layer_norm",
        "name": "layer_norm",
        "changes": {},
        "fingerprint": "0" * 64,
    }
    about |= {
        "too_few_seeds": False,
        "value": value,
        "values": {"accuracy": value},
        "conflicting_seeds": [],
        "contended": 0,
    }
    return {**about, **seeds, **whose, **times, **parts}


def test_a_published_value_of_validation_data_is_marked_so() -> None:
    of_paper = {"source": "published", "citation": "RBN, section 5.4", "model": "LSTM"}
    found = {"values": {"accuracy": {"mean": 0.503, "ci95": None}}, "value": None, "split": "valid"}
    table, _ = shown({**entry(None), **of_paper, **found}, {**entry(1), **of_paper, "value": None})
    first, second = table.rows
    assert "0.503 in validation" in first
    assert not any("0." in str(cell) for cell in second), "it has none of this metric"


def test_a_name_shows_departures_from_the_profile_and_breaks_between_words() -> None:
    tuned = "layer_norm (gain_init 0.1, max_steps 1000, optimizer adam, lr 0.001)"
    table, _ = shown(entry(1), entry(2, name=tuned), entry(3, over_budget=True))
    drawn = lines(table)
    assert ["1", "layer_norm", "–", "0.500", "[0.400,", "0.600]"] in [line[:6] for line in drawn]
    told = " ".join(word for line in drawn for word in line)
    assert all(word in told.split() for word in tuned.split())
    assert table.rows[1][1] == tuned
    assert table.rows[2][2] == "over budget"


def test_an_entry_of_too_few_seeds_has_no_rank() -> None:
    table, _ = shown(entry(1, rank_ci=[1, 2]), entry(2, rank_ci=[1, 2], too_few_seeds=True))
    assert [row[0] for row in table.rows] == ["1 [1, 2]", None]


@pytest.mark.parametrize(
    ("parts", "rank"),
    [
        ({}, "2 of 4"),
        ({"too_few_seeds": True}, "too few seeds"),
        ({"shared_rank": None}, "over budget"),
        ({"shared_rank": None, "n_diverged": 3}, "all runs diverged"),
    ],
)
def test_a_report_card_says_why_an_entry_has_no_rank(parts: dict[str, Any], rank: str) -> None:
    standing = {**REPORT_CARD.standings[0].model_dump(), "shared_rank": 2, "of": 4, "n_seeds": 3, **parts}
    card: Any = {**REPORT_CARD.model_dump(), "invariances": None, "cells": {}, "standings": [standing]}
    (table,) = (
        part for part in render_report_card(card) if isinstance(part, Table) and part.title.startswith("Best entry")
    )
    assert next(iter(table.rows))[2] == rank


@pytest.mark.parametrize(
    ("kernels", "told"),
    [
        (["fused", "fused"], None),
        (["reference", None], None),
        (["fused", "reference"], ["fused", "reference"]),
        (["mixed", "mixed"], ["mixed", "mixed"]),
    ],
)
def test_a_board_marks_the_times_of_different_kernels(kernels: list[str | None], told: list[str] | None) -> None:
    times = {"seconds_to_target": {"median": 3.5, "reached": 3, "tau": 40.0}}
    table, names = shown(*(entry(k, kernel=kernel, **times) for k, kernel in enumerate(kernels, 1)))
    if told is None:
        assert "kernel" not in names
    else:
        assert names[names.index("time") + 1] == "kernel"
        assert [row[names.index("kernel")] for row in table.rows] == told
        assert [row[names.index("time")] for row in table.rows] == ["3.5 s", "3.5 s"]


def test_a_rank_is_shown_with_its_rank_interval() -> None:
    table, _ = shown(entry(1, rank_ci=[1, 2]), entry(2, rank_ci=[1, 2]), entry(3, rank_ci=[3, 3]), entry(4))
    assert [row[0] for row in table.rows] == ["1 [1, 2]", "2 [1, 2]", "3", "4"]
    assert table.note == (
        "# in [brackets]: the lowest and the highest rank that the entry may truly have (95%, all rows together)."
    )


@pytest.mark.parametrize("parts", [{"rank_ci": [1, 1]}, {"rank_ci": [1, 3], "too_few_seeds": True}])
def test_rank_intervals_are_explained_only_if_the_table_has_one(parts: dict[str, Any]) -> None:
    assert shown(entry(1, **parts))[0].note is None


def test_a_comparison_explains_the_rank_interval_that_it_shows() -> None:
    def note(*rank_ci: int) -> str:
        found: Any = asdict(COMPARISON)
        found["entries"] = [{**one, "rank": 1, "rank_ci": rank_ci} for one in found["entries"]]
        return (comparison(found).note or "").splitlines()[0]

    assert note(1, 1).endswith(" divided by this entry's. Rank: among these entries.")
    assert note(1, 2).endswith(
        " Rank: among these entries; in [brackets]: the lowest and the highest rank that the entry may truly have."
    )


def test_a_time_says_how_many_seeds_missed_the_target() -> None:
    reached = {"median": 123.456, "reached": 3, "tau": 400.0}
    missed = {"median": None, "reached": 1, "tau": 400.0}
    nobody = {"median": None, "reached": 0, "tau": None}
    table, names = shown(*(entry(1, steps_to_target=time) for time in (reached, missed, nobody)))
    assert [row[names.index("steps")] for row in table.rows] == ["123.5", "– (1 of 3)", "–"]


@pytest.mark.parametrize(
    ("parts", "rank_by", "told"),
    [
        ({}, "metric", "2.4x"),
        ({"ci95": [1.6, 3.14]}, "metric", "2.4x [1.6, 3.1]"),
        ({"bound": "at least"}, "metric", "≥ 2.4x"),
        ({"bound": "at most"}, "seconds_to_target", "≤ 1.9x"),
        ({"steps": None}, "metric", None),
    ],
)
def test_a_speedup_has_its_interval_or_is_a_bound(parts: dict[str, Any], rank_by: str, told: str | None) -> None:
    speedup = {"baseline": "none", "steps": 2.4, "seconds": 1.9, "ci95": None, "bound": None, **parts}
    table, names = shown(entry(1, speedup=speedup), rank_by=rank_by)
    assert table.rows[0][names.index("vs none")] == told


def test_conflicting_seeds_are_named_under_the_title() -> None:
    table, _ = shown(entry(1, conflicting_seeds=[3, 5]))
    assert table.note == "Seeds 3, 5 of layer_norm (00000000) gave different numbers on one machine."


def test_a_board_says_which_seconds_do_not_count_and_what_to_do() -> None:
    time = {"median": 3.5, "reached": 1, "tau": 40.0}
    nothing = {"median": None, "reached": 0, "tau": 40.0}
    some = entry(1, contended=1, seconds_to_target=time, n_seeds=3)
    none = entry(name="none", rank=None, contended=3, seconds_to_target=nothing)
    table, names = shown(some, none, entry(seconds_to_target={**time, "reached": 3}), rank_by="seconds_to_target")
    assert [row[names.index("time")] for row in table.rows] == ["3.5 s (1 of 2)*", "–*", "3.5 s"]
    assert table.note == (
        f"* Times of runs of 2 entries are left out: the machine was busy. {AGAIN}"
        " Without other runs an entry has no rank here."
    )
    table, _ = shown(some)
    assert table.note == f"* Times of runs of 1 entry are left out: the machine was busy. {AGAIN}"
    assert shown(entry())[0].note is None
    many, _ = shown(*(entry(k, contended=1, seconds_to_target=time) for k in range(1, 16)))
    assert many.note == f"* Times of runs of 15 entries are left out: the machine was busy. {AGAIN}"


def test_a_board_begins_with_its_verdict() -> None:
    table, _ = shown(entry(1, rank_ci=[1, 2]), verdict={"claim": "layer_norm is first:", "detail": "by 3 points."})
    assert table.note is not None
    assert table.note.splitlines()[0] == "layer_norm is first: by 3 points."


@pytest.mark.parametrize(
    ("ci95", "told"),
    [
        (None, "0.650"),
        ([0.641, 0.659], "0.650 [0.641, 0.659]"),
        ([0.65, 0.65], "0.650 (no spread)"),
        ([0.64994, 0.65006], "0.650 [0.6499, 0.6501]"),
    ],
)
def test_a_narrow_interval_is_not_shown_as_one_of_no_width(ci95: list[float] | None, told: str) -> None:
    assert interval({"mean": 0.65, "ci95": ci95}) == told


def test_an_entry_whose_seeds_did_not_all_take_off_is_named_below_the_board() -> None:
    assert shown(entry(1, gap=True), entry(2, method="none", gap=False))[0].note == (
        "Some seeds of layer_norm (00000000) did not take off; no interval of the mean holds for such values."
    )


def test_an_entry_that_is_not_ranked_by_its_mean_shows_its_score() -> None:
    assert shown(entry(1, score=0.525), entry(2, method="none", score=0.5))[0].note == (
        "layer_norm (00000000) is ranked by 0.525, as no seed counts as worse than no skill."
    )


def test_runs_of_older_code_are_counted_below_the_board() -> None:
    entries = [entry(1, n_older=2), entry(2, method="none")]
    assert shown(*entries)[0].note == "2 runs of older code are set aside; --code all shows them."
    table, _ = shown(*entries, entry(None, n_older=2, of_older_code=True))
    assert table.note is None
    assert [cells[2] for cells in table.rows] == [None, None, "of older code"]


def test_rows_of_older_code_of_one_fingerprint_show_the_digests_of_their_code() -> None:
    table, _ = shown(
        entry(1, code="c" * 64),
        entry(None, of_older_code=True, code="0123456789abcdef", older_parts=["norm"]),
        entry(None, of_older_code=True, code="fedcba9876543210"),
    )
    told = [None, "of older code 01234567: method", "of older code fedcba98"]
    assert [cells[2] for cells in table.rows] == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"mean": 999_999.5, "ci95": None}, "999999.500"),
        ({"mean": 1e6, "ci95": [999_999.0, 1_000_001.0]}, "1e+06 [999999.000, 1e+06]"),
        ({"mean": 1e100, "ci95": None}, "1e+100"),
        ({"mean": 1.7e308, "ci95": [-1.23456e307, 1.7e308]}, "1.7e+308 [-1.235e+307, 1.7e+308]"),
        ({"mean": 1e75, "ci95": [1e75, 1e75]}, "1e+75 (no spread)"),
        ({"mean": 1e75, "ci95": [1e75, 1.00002e75]}, "1e+75 [1e+75, 1.00002e+75]"),
    ],
)
def test_a_large_value_is_written_with_a_power_of_ten(value: dict[str, Any], told: str) -> None:
    assert interval(value) == told


@pytest.mark.parametrize(
    ("number", "told"), [(0.0, "+0.000"), (0.0123, "+0.012"), (-0.5, "-0.500"), (1e100, "+1e+100"), (-1e6, "-1e+06")]
)
def test_a_difference_is_written_with_its_sign(number: float, told: str) -> None:
    assert format_difference(number) == told


def test_a_huge_claim_fits_a_line() -> None:
    spec = {"task": {"name": "char_lm", "profile": "smoke"}}
    difference = {"mean": 1e100, "ci95": [-1e100, 3e100], "p_value": 0.4}
    found: Any = {"id": "sub_1", "spec": spec, "name": "layer_norm", "state": "disputed", "values": [1, 2]}
    found |= {"value": {"mean": 1e100, "ci95": [1e99, 2e100]}, "difference": difference, "provenance": {"source": "x"}}
    [row] = claims([found]).rows
    assert (row[4], row[6]) == ("1e+100 [1e+99, 2e+100]", "+1e+100 [-1e+100, 3e+100], p 0.4")


def test_a_huge_score_below_the_board_is_written_with_a_power_of_ten() -> None:
    assert shown(entry(1, score=1e75))[0].note == (
        "layer_norm (00000000) is ranked by 1e+75, as no seed counts as worse than no skill."
    )


def test_a_huge_test_value_of_a_run_is_written_with_a_power_of_ten() -> None:
    run = {"id": "run_1", "seed": 0, "state": "succeeded", "attempt": 1, "outcome": "completed", "error": None}
    run |= {"progress": {"step": 40, "max_steps": 40}, "result": {"value": 1e180}, "timing": None}
    found: Any = {**summary(), "spec": {**summary()["spec"], "kind": "training"}, "runs": [run]}
    [row] = runs(found).rows
    assert row[5] == "1e+180"


@pytest.mark.parametrize(
    ("by_state", "n_diverged", "told"),
    [
        ({"succeeded": 2}, 2, ("diverged", "2 diverged")),
        ({"succeeded": 3}, 2, ("succeeded", "1 succeeded + 2 diverged")),
        ({"succeeded": 2, "failed": 1}, 2, ("failed", "1 failed + 2 diverged")),
        ({"running": 1, "succeeded": 1}, 1, ("running", "1 running + 1 diverged")),
        ({"succeeded": 2}, 0, ("succeeded", "2 succeeded")),
    ],
)
def test_the_list_of_experiments_counts_the_runs_that_diverged(
    by_state: dict[str, int], n_diverged: int, told: tuple[str, str]
) -> None:
    state = next(state for state in ("running", "failed", "succeeded") if state in by_state)
    found: Any = {**summary(), "state": state, "runs_by_state": by_state, "n_diverged": n_diverged}
    [row] = experiments([found], NOON).rows
    assert (row[3], row[5]) == told


def named(*names: str) -> Table:
    found: Any = [{**summary(), "name": name} for name in names]
    return experiments(found, NOON)


def test_at_80_columns_the_experiments_of_a_random_sweep_are_a_table() -> None:
    drawn = lines(named("layer_norm (lr 0.028772322387449176)", "layer_norm (lr 1.2345678901234567e-05, eps 1e-05)"))
    assert drawn[1] == ["id", "task", "method", "age", "runs"]
    words = [word for line in drawn for word in line]
    assert {"0.02877)", "1.235e-05,", "1e-05)"} <= set(words)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["none (lr 0.0287723)", "none (lr 0.0287724)"], ["none (lr 0.0287723)", "none (lr 0.0287724)"]),
        (["none (lr 0.02877231)", "none (lr 0.0287724)"], ["none (lr 0.0287723)", "none (lr 0.0287724)"]),
        (["none (lr 0.028772311)", "none (lr 0.028772311)"], ["none (lr 0.02877)", "none (lr 0.02877)"]),
        (["none (decays [0.123456, 0.5], max_steps 123456)"], ["none (decays [0.1235, 0.5], max_steps 123456)"]),
        (["none (file a-0.123456.txt)", None], ["none (file a-0.123456.txt)", None]),
    ],
)
def test_numbers_in_names_are_shortened_as_far_as_names_stay_different(names: list[Any], told: list[Any]) -> None:
    assert [row[2] for row in named(*names).rows] == told


def test_names_may_be_the_same_on_different_tasks() -> None:
    found: Any = [{**summary(), "name": f"none (lr 0.02877{k})"} for k in (11, 12)]
    found[1] = {**found[1], "spec": {"task": {"name": "char_lm", "profile": "small"}}}
    assert [row[2] for row in experiments(found, NOON).rows] == ["none (lr 0.02877)"] * 2
