"""Results by seed are stored in a file. A printed table replaces absent results if its kind of interval is known."""

import statistics
from pathlib import Path

import pytest

from benchmarks.reproductions.seeds import Seeds, read, read_table, write
from normcore.target import Time

MEASURED = "Measured on a machine, torch 2; commit {}, 2026-11-25."


def test_written_seeds_are_read_back(tmp_path: Path) -> None:
    diverged = Seeds(values={0: 0.5, 1: None}, score=0.3, times={0: Time(True, 75.0, 1.5)}, shown={0: 1.25, 1: None})
    seeds = {"rbn": {"none": diverged, "layer_norm": Seeds(values={2: 0.25}, score=0.25, max_steps=40)}}
    write(tmp_path / "pictures" / "seeds.json", {**seeds, "nothing": {}})
    assert read(tmp_path / "pictures" / "seeds.json") == seeds
    assert read(tmp_path / "other.json") == {}


def test_a_printed_interval_of_three_seeds_gives_their_mean_and_spread() -> None:
    """Student's t at 95% with two degrees of freedom is 4.3027; .4 .5 .6 give .5 +- 4.3027 * .1 / sqrt(3)."""
    rows = [["layer norm", "3", "0.5", "0.2516 to 0.7484", "75 (3 of 3)", "1.0"]]
    found = read_table(MEASURED.format("bd0cfa7"), ["layer_norm", "none"], rows)
    assert list(found) == ["layer_norm"]
    values = list(found["layer_norm"].converged.values())
    assert len(values) == 3
    assert (statistics.fmean(values), statistics.stdev(values)) == pytest.approx((0.5, 0.1), abs=1e-4)
    assert found["layer_norm"].is_printed
    assert found["layer_norm"].times is None, "a median says nothing of each seed"


def test_thousands_and_negative_limits_are_read() -> None:
    rows = [["none", "2", "-1,500", "-2,770.62 to -229.38", "–", "1.0"]]
    values = list(read_table(MEASURED.format("b36785e, 00448dd"), ["none"], rows)["none"].converged.values())
    assert (statistics.fmean(values), statistics.stdev(values)) == pytest.approx(
        (-1500, 141.42), abs=0.01
    )  # t = 12.706


def test_one_seed_has_a_value_and_no_spread() -> None:
    rows = [["none", "1", "0.0144", "–", "860 (1 of 1)", "12.7"]]
    assert read_table(MEASURED.format("00448dd"), ["none"], rows)["none"].converged == {0: 0.0144}


@pytest.mark.parametrize("commit", ["abcdef0", "bd0cfa7, abcdef0", "unknown"])
def test_tables_of_unknown_commits_give_no_seeds(commit: str) -> None:
    rows = [["none", "3", "0.5", "0.2516 to 0.7484", "75 (3 of 3)", "1.0"]]
    assert read_table(MEASURED.format(commit), ["none"], rows) == {}


def test_a_table_of_five_seeds_does_not_replace_the_seeds() -> None:
    rows = [["none", "5", "0.5", "0.2516 to 0.7484", "75 (5 of 5)", "1.0"]]
    assert read_table(MEASURED.format("bd0cfa7"), ["none"], rows) == {}
