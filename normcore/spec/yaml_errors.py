"""Messages on texts that are not valid YAML, each on one line: where the error is, and what to write instead."""

import re

import yaml

WITHOUT_SPACE = re.compile(r"\s*(\w+):([^\s/:].{,60})")  # a key, a colon and the value
HINTS = {
    "cannot start any token": "put a value that begins with this character into quotes",
    "mapping values are not allowed here": "a colon stands too deep; indent the line as its neighbours, and give no"
    " value to a key that has lines below it",
    "expected a single document": "a second document begins with ---; write each spec into a file of its own",
    "special characters are not allowed": "a character that cannot be seen stands here; save the text as UTF-8, and"
    " remove it",
    "could not find expected ':'": "put a colon and a space between a key and its value",
    "undefined alias": "put a value that begins with * into quotes",
    "but found '<block mapping start>'": "the line is indented less than the line above and more than the part; indent"
    " all fields of a part alike",
    "but found '<block sequence start>'": "the list is indented less than the line above and more than the part; indent"
    " all fields of a part alike",
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
    opened = getattr(error, "context_mark", None)
    if opened is not None and "quoted scalar" in str(getattr(error, "context", "")) and "end of stream" in problem:
        return f"line {opened.line + 1}: the quote that opens here is not closed"
    lines = text.splitlines() or [""]
    said = lines[min(row, len(lines) - 1)]
    if "\t" in said[: len(said) - len(said.lstrip())] or (said[column : column + 1] == "\t"):
        return f"line {row + 1}: a tab stands before the text, and YAML is indented with spaces; replace it by spaces"
    above = next((number for number in range(row, 0, -1) if lines[number - 1].strip()), 0)
    glued = WITHOUT_SPACE.match(lines[above - 1]) if above and "mapping values are not allowed" in problem else None
    if glued:
        return f"line {above}: put a space after the colon; write {glued[1]}: {glued[2]}"
    if "flow" in str(getattr(error, "context", "")):
        return _in_brackets(error, text, row)
    hint = next((hint for part, hint in HINTS.items() if part in problem), None)
    return f"line {row + 1}: {hint or problem}"


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
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
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
