"""Long sentences of documents, of templates of pages, and of comments, and first words of comments in C++."""

import re
from collections.abc import Iterator

from tools.words.rules import NO_FIRST_WORD, Fault, faults_of_texts

INLINE = r"</?(?:a|abbr|b|code|em|i|span|strong|time)\b[^>]*>"
COMMENTS = re.compile(r"(?:^[ \t]*//.*\n)+|//.*|/\*[\s\S]*?\*/", re.MULTILINE)
HASH_COMMENTS = re.compile(r"(?:^[ \t]*#.*\n)+|(?<=[ \t])#.*", re.MULTILINE)
STATEMENTS = "if|for|while|switch|do|else|return|case"
DESCRIPTION = re.compile(
    rf"((?:^[ \t]*//.*\n)+)[ \t]*(?!(?:{STATEMENTS})\b)(?:#define|template|class|struct|inline|constexpr|.*[{{}}]$)",
    re.MULTILINE,
)
"""Comment directly above a declaration in C++. Members without a body are left out: they look like statements."""


def faults_of_document(name: str, source: str) -> Iterator[Fault]:
    """Find the long sentences of a document in Markdown. A span of code counts as one word."""
    yield from faults_of_texts(name, _paragraphs(source))


def faults_of_template(name: str, source: str) -> Iterator[Fault]:
    """Find the long sentences of a template in Jinja. A value counts as one word."""
    values = re.sub(r"{{.*?}}", lambda value: f"value{_lines(value)}", source, flags=re.DOTALL)
    for pattern in (r"{%.*?%}", r"<(script|style)\b.*?</\1>", INLINE):
        values = re.sub(pattern, _lines, values, flags=re.DOTALL)
    yield from faults_of_texts(name, _split(r"<[^>]*>|{#|#}", values))


def faults_of_comments(name: str, source: str, pattern: re.Pattern[str] = COMMENTS) -> Iterator[Fault]:
    """Find the long sentences of the comments ``// …`` and ``/* … */``, or of those that match ``pattern``."""
    for comment in pattern.finditer(source):
        yield from faults_of_texts(name, [(_line(source, comment), _text(comment[0]))])


def faults_of_hash_comments(name: str, source: str) -> Iterator[Fault]:
    """Find the long sentences of the comments ``# …``."""
    yield from faults_of_comments(name, source, HASH_COMMENTS)


def faults_of_cpp(name: str, source: str) -> Iterator[Fault]:
    """Find the long sentences of comments in C++, and the first words of comments above declarations."""
    yield from faults_of_comments(name, source)
    for comment in DESCRIPTION.finditer(source):
        if found := NO_FIRST_WORD.match(_text(comment[1])):
            advice = f"begin a comment above a declaration with a verb or a noun, not with {found[0]!r}"
            yield Fault(name, _line(source, comment), advice)


def _line(source: str, found: re.Match[str]) -> int:
    return source.count("\n", 0, found.start()) + 1


def _text(comment: str) -> str:
    """Text of a comment in one line, without the marks of comments."""
    return " ".join(re.sub(r"[/*#]+", " ", comment).split())


def _paragraphs(source: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs, items of lists and cells of tables of a document, each with its line."""
    blocks = r"^ *(?:```.*?^ *```|\$\$.*?\$\$|<!--.*?-->)[^\n]*$"
    plain = re.sub(blocks, _lines, source, flags=re.DOTALL | re.MULTILINE)
    plain = re.sub(r"`+[^`]+`+", "code", re.sub(r"\]\([^)]*\)", "]", plain))
    yield from _split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\||^\s*(?:[-*]|\d+\.) ", plain)


def _split(pattern: str, source: str) -> Iterator[tuple[int, str]]:
    """Split a source at a pattern. Yield each piece as one line, with the number of its first line in the source."""
    first = 0
    for found in [*re.finditer(pattern, source, re.MULTILINE), None]:
        piece = source[first : found.start() if found else None]
        start = first + len(piece) - len(piece.lstrip())
        yield source.count("\n", 0, start) + 1, " ".join(piece.split())
        first = found.end() if found else first


def _lines(found: re.Match[str]) -> str:
    """Line breaks of a part that is left out, so that the lines behind it keep their numbers."""
    return "\n" * found[0].count("\n")
