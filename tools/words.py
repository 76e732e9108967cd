"""Check of the language: ``python -m tools.words`` prints each fault as ``file:line: what to mend``.

It checks the rules of docs/develop/words.md that a machine can check: the first word of a docstring, the length of
sentences in docstrings, comments and documents, the names of modules and classes, and the subjects of commits. Only
documents in ``GENERATED`` are exempt.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MAX_WORDS = 30  # in a sentence
SUBJECT_LENGTH = 72
GENERATED = ("docs/results/reproductions.md",)  # a program joins its sentences from quotations and lists of numbers
COMMITS = 20  # newest commits whose subjects are read

NO_FIRST_WORD = re.compile(
    r"(Of|With|Without|Whose|What|Whether|Which|Who|Whom|How|The same|That|Those|From|By|To|In|For|At|On|As|If|When|"
    r"Where|They|It|Is|None|No|Not|Such|So|Than|Since|Beside|Beyond|Before|After|Until)\b"
)
# Nouns and adjectives that end like participles.
NAMES = {"feed", "seed", "embed", "speed", "unused", "shared", "feed_forward", "advanced", "need"}
EVENTS = {"errors.py", "events.py", "messages.py"}  # their classes say what happened
PARTICIPLES = {"kept", "written", "aside", "warm", "drawn", "taken", "given", "told", "seen", "made"}


class Fault(NamedTuple):
    """Fault of the language: its place, and advice how to mend it."""

    file: str
    line: int
    advice: str


def main() -> int:
    """Print all faults; return 1 if there are any."""
    found = list(faults())
    for fault in found:
        print(f"{fault.file}:{fault.line}: {fault.advice}")
    return 1 if found else 0


def faults() -> Iterator[Fault]:
    """Find the faults of all Python files and documents that git knows, and of the newest commits."""
    for name in _git("ls-files", "-z", "*.py", "*.md").split("\0"):
        if name and name not in GENERATED and (ROOT / name).exists():
            check = faults_of_document if name.endswith(".md") else faults_of
            yield from check(name, (ROOT / name).read_text(encoding="utf-8"))
    for subject in _git("log", f"-{COMMITS}", "--no-merges", "--format=%s").splitlines():
        if advice := fault_of_subject(subject):
            yield Fault("git log", 1, f"{advice}: {subject}")


def faults_of(name: str, source: str) -> Iterator[Fault]:
    """Find the faults of a module: in its name, the names of its classes, its docstrings and its comments."""
    stem = Path(name).stem.removeprefix("test_").strip("_")
    if _is_participle(stem.rpartition("_")[2]):
        yield Fault(name, 1, "a module's name is a noun, not a participle")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and Path(name).name not in EVENTS and _is_participle(node.name.strip("_")):
            yield Fault(name, node.lineno, f"the name of a class is a noun, not a participle: {node.name}")
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if text := ast.get_docstring(node):
            yield from (Fault(name, node.body[0].lineno, advice) for advice in _faults_of_docstring(text))
    for line, text in _comments(source):
        yield from (Fault(name, line, advice) for advice in _long_sentences(text))


def _is_participle(word: str) -> bool:
    """Tell if a word ends like a participle. A name of several words, as CodeEdited, is no word."""
    word = word[:1].lower() + word[1:]
    return word.islower() and (word in PARTICIPLES or (word.endswith("ed") and word not in NAMES))


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a module, each with its first line. Comments that fill lines one after the other are one
    comment.
    """
    first, last, text = 0, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        fills_line = token.line.lstrip().startswith("#")
        if fills_line and token.start[0] == last + 1:
            last, text = last + 1, f"{text} {token.string.lstrip('# ')}"
            continue
        yield first, text
        first, text = token.start[0], token.string.lstrip("# ")
        last = first if fills_line else 0
    yield first, text


def _faults_of_docstring(text: str) -> Iterator[str]:
    if found := NO_FIRST_WORD.match(text):
        yield f"begin a docstring with a verb or a noun, not with {found[0]!r}"
    yield from _long_sentences(text)


def _long_sentences(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        if (count := len(sentence.split())) > MAX_WORDS:
            yield f"a sentence of {count} words, of at most {MAX_WORDS}: {sentence[:60]} …"


def faults_of_document(name: str, source: str) -> Iterator[Fault]:
    """Find the long sentences of a document in Markdown. A span of code counts as one word."""
    line = 1
    for paragraph in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) ))", _without_blocks(source)):
        plain = re.sub(r"`+[^`]+`+", "code", re.sub(r"\]\([^)]*\)", "]", paragraph))
        unmarked = re.sub(r"^\s*(?:[-*] |\d+\. )?", "", plain, flags=re.MULTILINE)
        yield from (Fault(name, line, advice) for advice in _long_sentences(unmarked))
        line += paragraph.count("\n")


def _without_blocks(source: str) -> str:
    """Replace the lines of code blocks, formulas and comments in a document by empty lines."""
    blocks = r"^ *(?:```.*?^ *```|\$\$.*?\$\$|<!--.*?-->)[^\n]*$"
    return re.sub(blocks, lambda block: "\n" * block[0].count("\n"), source, flags=re.DOTALL | re.MULTILINE)


def sentences(text: str) -> Iterator[str]:
    """Split a docstring into sentences. Lists, tables, and indented code and formulas are left out."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"\s{4}|\||[-*] ", line)]
        yield from (part.strip() for part in re.split(r"(?<=[.:;?!])\s", " ".join(lines)) if part.strip())


def fault_of_subject(subject: str) -> str | None:
    """Advice on the subject of a commit; None if the subject follows the rules."""
    if len(subject) > SUBJECT_LENGTH:
        return f"a subject has at most {SUBJECT_LENGTH} characters"
    first = subject.split(" ")[0]
    if not first[:1].isupper() or subject.endswith(".") or re.search(r"(ed|ing)$", first):
        return "a subject is one imperative sentence without a full stop"
    return None


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
