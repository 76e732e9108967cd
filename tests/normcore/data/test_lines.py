"""A line ends at a newline alone."""

import pytest

from normcore.data.lines import lines_of


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\n\n", ["a", ""]),
        ("caf\x85 and\u2028so\x0bon\x1c\n", ["caf\x85 and\u2028so\x0bon\x1c"]),
    ],
)
def test_a_line_ends_at_a_newline_alone(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines
