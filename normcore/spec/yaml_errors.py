"""Messages on texts that are not valid YAML, each on one line: where the error is, and what to write instead."""

import re
from collections.abc import Sequence

import yaml

WITHOUT_SPACE = re.compile(r"\s*(\w+):([^\s/:].{,60})")  # a key, a colon and the value
OPENING = re.compile(r"(?:^|[:,\-\[{])\s*(['\"])")  # a quote at the beginning of a key or a value
UNEVEN = "the line is indented differently from line {above}; indent all fields of a part alike"
NO_COLON = "put a colon and a space between a key and its value"
HINTS = {
    "cannot start any token": "put a value that begins with this character into quotes",
    "expected a single document": "a second document begins with ---; write each spec into a file of its own",
    "special characters are not allowed": "a character that cannot be seen stands here; save the text as UTF-8, and"
    " remove it",
    "could not find expected ':'": NO_COLON,
    "undefined alias": "put a value that begins with * into quotes",
    "a constructor for the tag": "put a value that begins with ! into quotes",
    "expected a comment or a line break": "put a value that begins with > or | into quotes",
    "unknown escape character": "put the text into single quotes, or write each backslash twice",
    "sequence entries are not allowed here": "begin each item of a list, with its -, on a line of its own",
    "but found '<block mapping start>'": UNEVEN,
    "but found '<block sequence start>'": UNEVEN,
    "but found '-'": "an item of a list stands among fields; indent the list below the field that it belongs to",
    "but found '}'": "a bracket is closed here that was not opened; remove it",
    "but found ']'": "a bracket is closed here that was not opened; remove it",
    "but found '<scalar>'": "something stands behind a complete value; write each field on a line of its own, and put"
    " all of a text into one pair of quotes",
}
COMMENT = "neither YAML nor JSON has comments with // or /*; remove them, or write # in YAML"


def in_one_line(error: yaml.YAMLError, text: str) -> str:
    """Write the error as ``line 2: …``. For common causes the message says what to write instead."""
    place, problem = _place(error, text), _problem(error)
    if place is None:
        return problem
    row, column = place
    lines = text.splitlines() or [""]
    said = lines[min(row, len(lines) - 1)]
    quote = _unclosed_quote(error, lines[: row + 1])
    if quote is not None:
        return f"line {quote + 1}: the quote that opens here is not closed"
    if "\t" in said[: len(said) - len(said.lstrip())] or (said[column : column + 1] == "\t"):
        return f"line {row + 1}: a tab stands before the text, and YAML is indented with spaces; replace it by spaces"
    above = next((number for number in range(row, 0, -1) if lines[number - 1].partition("#")[0].strip()), 0)
    if "mapping values are not allowed" in problem:
        return _at_a_colon(lines, row, column, above)
    if "flow" in str(getattr(error, "context", "")):
        return _in_brackets(error, text, row)
    hint = next((hint for part, hint in HINTS.items() if part in problem), problem)
    return f"line {row + 1}: {hint.replace('{above}', str(above))}"


def _unclosed_quote(error: yaml.YAMLError, lines: Sequence[str]) -> int | None:
    """Find the line, counted from 0, with the quote that is not closed; None if all quotes are closed.

    Args:
        lines: the lines up to the place of the error. If the quote is closed by the next quote, in a later line, PyYAML
            does not say where it opens.
    """
    context, mark = str(getattr(error, "context", "")), getattr(error, "context_mark", None)
    if mark is not None and "quoted scalar" in context and "end of stream" in _problem(error):
        return int(mark.line)
    if "flow" not in context and "but found '<scalar>'" not in _problem(error):
        return None
    opened = ((row, OPENING.search(line)) for row, line in enumerate(lines))
    return next((row for row, found in opened if found and lines[row].count(found[1]) % 2), None)


def _at_a_colon(lines: Sequence[str], row: int, column: int, above: int) -> str:
    """Write the message for a colon that is not allowed where it stands.

    Args:
        above: number of the line above, counted from 1, without empty lines and comments; 0 for the first line.
    """
    glued = WITHOUT_SPACE.match(lines[above - 1]) if above else None
    if glued:
        return f"line {above}: put a space after the colon; write {glued[1]}: {glued[2]}"
    if ": " in lines[row][:column]:
        return (
            f"line {row + 1}: a second colon stands here; write each field on a line of its own, and put a text with"
            " a colon into quotes"
        )
    if above and ":" not in lines[above - 1]:
        return f"line {above}: {NO_COLON}"
    return f"line {row + 1}: {UNEVEN.format(above=above)}"


def _in_brackets(error: yaml.YAMLError, text: str, row: int) -> str:
    """Write the message for an error between brackets: a comment, a missing comma, or a missing closing bracket."""
    mark = getattr(error, "context_mark", None)
    opened = mark.line + 1 if mark else row + 1
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("//", "/*")) or " //" in line:
            return f"line {number}: {COMMENT}"
    if "stream end" in str(getattr(error, "problem", "")):
        return f"line {opened}: the bracket that opens here is not closed"
    return f"line {row + 1}: expected a comma or a closing bracket; the bracket was opened in line {opened}"


def _place(error: yaml.YAMLError, text: str) -> tuple[int, int] | None:
    """Find line and column of the error, counted from 0; None if the place is not known."""
    marks = [getattr(error, name, None) for name in ("problem_mark", "context_mark")]
    if "could not find expected ':'" in _problem(error):  # the problem is noticed only later
        marks.reverse()
    mark = marks[0] or marks[1]
    if mark is not None:
        return mark.line, mark.column
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        return before.count("\n"), 0
    return None


def _problem(error: yaml.YAMLError) -> str:
    context = getattr(error, "context", None) or ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return problem if "single document" not in context else context
