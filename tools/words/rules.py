"""Rules of docs/develop/words.md that a machine can check."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_WORDS = 30  # in a sentence
SUBJECT_LENGTH = 72
NO_FIRST_WORD = re.compile(
    r"(Of|With|Without|Whose|What|Whether|Which|Who|Whom|How|The same|That|Those|From|By|To|In|For|At|On|As|If|When|"
    r"Where|They|It|Is|None|No|Not|Such|So|Than|Since|Beside|Beyond|Before|After|Until|And|Or|But|Both|Are|Was|Were|"
    r"Does|This|There)\b"
)
SECTION = re.compile(r"^(?:Args|Attributes|Raises|Returns|Yields):\n((?: {4}.*\n?|\n)+)", re.MULTILINE)
# Nouns and adjectives that end like participles.
NAMES = {"feed", "seed", "embed", "speed", "unused", "shared", "feed_forward", "advanced", "need"}
PARTICIPLES = {"kept", "written", "aside", "warm", "drawn", "taken", "given", "told", "seen", "made"}


class Fault(NamedTuple):
    """Fault of the language: its place, and advice how to mend it."""

    file: str
    line: int
    advice: str


def is_participle(word: str) -> bool:
    """Tell if a word ends like a participle. A name of several words, as CodeEdited, is no word."""
    word = word[:1].lower() + word[1:]
    return word.islower() and (word in PARTICIPLES or (word.endswith("ed") and word not in NAMES))


def faults_of_docstring(text: str) -> Iterator[str]:
    """Advice on the first word and the sentences of a docstring."""
    if found := NO_FIRST_WORD.match(text):
        yield f"begin a docstring with a verb or a noun, not with {found[0]!r}"
    yield from long_sentences(text)
    for item in _items(text):
        yield from long_sentences(" ".join(item.split()))


def _items(docstring: str) -> list[str]:
    """Items of the sections and lists of a docstring: their first line, with the lines below that go on deeper."""
    sections = [textwrap.dedent(section) for section in SECTION.findall(docstring)]
    items = [item for section in sections for item in re.split(r"\n+(?! )", section)]
    return items + re.findall(r"^ *[-*] (.*(?:\n +(?![-* ]).*)*)", docstring, re.MULTILINE)


def faults_of_texts(file: str, texts: Iterable[tuple[int, str]]) -> Iterator[Fault]:
    """Find the long sentences of texts of one file, each given with its line."""
    for line, text in texts:
        yield from (Fault(file, line, advice) for advice in long_sentences(text))


def long_sentences(text: str) -> Iterator[str]:
    """Advice on each sentence that is too long."""
    for sentence in sentences(text):
        if (count := len(sentence.split())) > MAX_WORDS:
            yield f"a sentence of {count} words, of at most {MAX_WORDS}: {sentence[:60]} …"


def sentences(text: str) -> Iterator[str]:
    """Split a text into sentences. Lists, tables, and indented code and formulas are left out."""
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
