"""The evaluation sets are read in their official formats, and errors in the files are named."""

from pathlib import Path

import pytest

from normcore.data import sentence_sets
from normcore.data.registry import DatasetCorrupt
from normcore.data.sentence_sets import parse_lines, parse_sick

HEAD = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
ROW = "6\tThere is no boy.\tA Boy's dog isn't there\t3.3\tNEUTRAL"


def test_pairs_are_read_with_their_scores() -> None:
    (pair,) = parse_sick(f"{HEAD}\r\n{ROW}\r\n\r\n", "SICK_train.txt")
    assert " ".join(pair.first) == "there is no boy ."
    assert " ".join(pair.second) == "a boy 's dog isn't there"
    assert pair.score == 3.3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROW, "line 1: expected the columns pair_ID, sentence_A"),
        (f"{HEAD}\n{ROW}\n{ROW.replace('3.3', 'much')}", "line 3: expected five columns, of which the fourth is"),
        (f"{HEAD}\n6\tA\tB\t3.3", "line 2: expected five columns"),
        (
            f"{HEAD}\n{ROW.replace('3.3', '5.1')}",
            "line 2: expected .* a score from 1 to 5, received 5.1",
        ),
        (
            f"{HEAD}\n{ROW.replace('3.3', 'nan')}",
            "line 2: expected .* a score from 1 to 5, received nan",
        ),
        (f"{HEAD}\n6\t\tB\t3.3\tNEUTRAL", "line 2: expected two sentences"),
        ("", "line 1: expected the columns"),
    ],
)
def test_error_in_a_line_is_named(text: str, message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=f"^s.txt, {message}"):
        parse_sick(text, "s.txt")


def test_each_line_is_a_sentence() -> None:
    assert parse_lines("Good film !\n\n it 's bad\n") == [["good", "film", "!"], ["it", "'s", "bad"]]
    assert len(parse_lines("caf\x85 is good\n")) == 1


def test_official_files_have_the_expected_sizes(datasets_dir: Path) -> None:
    """Some of the 3,775 lines of CR and of the 10,606 lines of MPQA are empty."""
    found = sentence_sets.load(datasets_dir)
    assert {split: len(pairs) for split, pairs in found.sick.items()} == {"train": 4500, "valid": 500, "test": 4927}
    sizes = {name: (len(no), len(yes)) for name, (no, yes) in found.opinions.items()}
    assert sizes == {"mr": (5331, 5331), "cr": (1366, 2405), "subj": (5000, 5000), "mpqa": (7292, 3311)}
    few = found.first(10)
    assert {len(pairs) for pairs in few.sick.values()} == {10}
    assert {(len(no), len(yes)) for no, yes in few.opinions.values()} == {(5, 5)}
    assert few.opinions["mr"][1] == found.opinions["mr"][1][:5]
    assert found.first(None) is found
