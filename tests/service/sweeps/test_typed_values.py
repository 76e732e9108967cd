"""Values of a swept field as a user types them into one line."""

from typing import Any

import pytest

from service.sweeps.typed_values import read_line, write_line


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("0.1, 0.3, 1", [0.1, 0.3, 1]),
        ("16 32;64", [16, 32, 64]),
        ("1e-4..1e-1 log 4", [1e-4, 1e-3, 1e-2, 1e-1]),
        ("1e-4 … 1e-1 log 5", [1e-4, 5.62e-4, 3.16e-3, 1.78e-2, 1e-1]),
        ("8..128 log 5", [8, 16, 32, 64, 128]),
        ("1 to 3 linear 3", [1, 2, 3]),
        ("0..1 linear 5", [0, 0.25, 0.5, 0.75, 1]),
        ("16..64 step 16", [16, 32, 48, 64]),
    ],
)
def test_lists_and_ranges_are_read(line: str, values: list[Any]) -> None:
    found = read_line(line)
    assert isinstance(found, list)
    assert found == pytest.approx(values)
    assert [type(value) for value in found] == [int if "." not in line and "e" not in line else type(v) for v in found]
    assert read_line(write_line(found)) == found


@pytest.mark.parametrize("line", ["", "0.1", "tiny", "0.1, tiny", "1,2" * 1000, "[1, 2]"])
def test_other_lines_are_no_values(line: str) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1e-4..1e-1", "say how many values the range has, as 1e-4..1e-1 log 5"),
        ("1e-4..1e-1 log", "say how many values the range has"),
        ("1..2 cubic 3", "unknown scale 'cubic'; choose from log, linear, step"),
        ("2..1 log 3", "give the smaller number first"),
        ("0..1 log 3", "a logarithmic range begins above 0"),
        ("1..2 log 1", "a range has 2 to 50 values"),
        ("1..2 linear 51", "a range has 2 to 50 values"),
        ("1..2 step 0", "a range has 2 to 50 values"),
        ("1..2 log 2.5", "a range has 2 to 50 values"),
    ],
)
def test_a_range_that_is_not_clear_says_what_to_type(line: str, told: str) -> None:
    found = read_line(line)
    assert isinstance(found, str)
    assert told in found
