"""Tables at every width: identifying columns stay whole, and columns that are left out are named."""

import io

import pytest
from rich.console import Console

from normbench.cli.command import PIPE_WIDTH
from normbench.display.table import Column, Table

ID = "exp_01ARZ3NDEKTSV4RRFFQ69G5FAV"
WORDS = "a sentence of [/x] some length that may be broken between any two of its words"
TABLE = Table(
    "Experiments",
    (
        Column("id"),
        Column("method"),
        Column("what", prose=True),
        Column("runs", optional=1),
        Column("time", optional=2),
    ),
    [(ID, "recurrent_batch_norm", WORDS, "2 running", "12.5 s"), (ID, None, "short", "1", "3 s")],
)


def shown(table: Table, width: int) -> str:
    console = Console(width=width, force_terminal=True, color_system=None, file=io.StringIO())
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [*range(31, 160, 3), PIPE_WIDTH])
def test_identifying_columns_are_never_cut_and_no_line_is_too_long(width: int) -> None:
    text = shown(TABLE, width)
    assert text.count(ID) == 2
    assert "recurrent_batch_norm" in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    folded = " ".join(text.split())
    assert all(word in folded for word in WORDS.split())


def test_a_wide_table_has_a_line_for_each_row() -> None:
    lines = shown(TABLE, PIPE_WIDTH).splitlines()
    assert lines[0] == "Experiments"
    assert lines[3].split("  ")[:3] == [ID, "recurrent_batch_norm", WORDS]
    assert lines[4].split() == [ID, "–", "short", "1", "3", "s"]
    assert len(lines) == 5


def test_the_least_important_columns_go_first_and_are_named() -> None:
    assert "Widen the terminal" not in shown(TABLE, 95)
    without_time = shown(TABLE, 85)
    assert "12.5 s" not in without_time
    assert "2 running" in without_time
    assert "Widen the terminal to see: time. --json shows everything." in without_time
    assert "Widen the terminal to see: runs, time." in shown(TABLE, 76)


def test_rows_become_blocks_where_even_the_narrowest_table_is_too_wide() -> None:
    lines = shown(TABLE, 50).splitlines()
    assert lines[1] == ID
    assert lines[2].split() == ["method", "recurrent_batch_norm"]
    assert ["runs", "2", "running"] in [line.split() for line in lines]
    assert ["time", "12.5", "s"] in [line.split() for line in lines]


@pytest.mark.parametrize("width", range(43, 130, 7))
def test_a_list_breaks_only_between_its_words(width: int) -> None:
    words = ["training.optimizer.lr=0.001,", "norm.gain_init=1.0,", "model.hidden_size=200"]
    columns = (Column("#"), Column("method"), Column("differs in", words=True), Column("test", optional=1))
    text = shown(Table("T", columns, [(1, "none", None, "0.5"), (2, "none", " ".join(words), "0.5")]), width)
    assert [word for word in text.split() if word in words] == words
    assert max(map(len, text.splitlines())) <= width
    assert ("Widen the terminal to see: test." in text) == (width < 45)


def test_an_empty_table_says_so() -> None:
    assert shown(Table("Keys", (Column("id"),), []), 80).split() == ["Keys", "none"]


def test_line_breaks_in_a_cell_do_not_break_its_row() -> None:
    assert "one two" in shown(Table("T", (Column("error", prose=True),), [("one\n two",)]), PIPE_WIDTH)
