"""BibTeX of works. Accents and special characters are commands, so that every LaTeX sets them without packages."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import count

from normcore.bibliography import Work, family_name

ESCAPED = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\dots{}"},
    **{"ß": r"{\ss}", "ø": r"{\o}", "Ø": r"{\O}", "ł": r"{\l}", "Ł": r"{\L}", "æ": r"{\ae}", "Æ": r"{\AE}"},
    **{"ı": r"{\i}", "ð": "d", "þ": "th", "@": r"{\char64}"},
}
ACCENTS = {
    **{"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": "."},
    **{"\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0328": "k"},
}
"""LaTeX's commands of combining characters."""
WORD = re.compile(r"[a-z0-9]+")
SHORT_WORDS = frozenset({"a", "an", "the", "on", "of", "for", "and", "in", "with", "to"})


def bibtex(works: Sequence[Work], notes: Sequence[str] = ()) -> str:
    """Write a BibTeX file: an entry for each work, after the notes as comments."""
    comments = [f"% {' '.join(note.replace('@', ' at ').split())}" for note in notes]
    entries = [_entry(key, work) for key, work in zip(keys(works), works, strict=True)]
    return "\n\n".join([*(["\n".join(comments)] if comments else []), *entries]) + "\n"


def keys(works: Sequence[Work]) -> list[str]:
    """Make the key of each work: author, year and first word of the title, each key once."""
    found: list[str] = []
    for work in works:
        wanted = _key(work)
        names = (wanted if k == 1 else f"{wanted}-{k}" for k in count(1))
        found.append(next(name for name in names if name not in found))
    return found


def escape(text: str) -> str:
    """Write text so that LaTeX sets the same text: special characters escaped, accents as commands."""
    return "".join(map(_escape_character, unicodedata.normalize("NFC", " ".join(text.split()))))


def _escape_character(character: str) -> str:
    if character in ESCAPED:
        return ESCAPED[character]
    if " " <= character <= "~":
        return character
    base, *marks = list(unicodedata.normalize("NFD", character))
    if len(marks) == 1 and marks[0] in ACCENTS and base.isascii():
        return f"{{\\{ACCENTS[marks[0]]}{{{base}}}}}"
    return character


def _entry(key: str, work: Work) -> str:
    kind = "article" if work.journal else "inproceedings" if work.booktitle else "misc"
    lines = (f"  {name} = {{{value}}}," for name, value in _fields(work))
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _fields(work: Work) -> Iterator[tuple[str, str]]:
    """Yield the fields of an entry. Braces keep the capitals of a title, and an organization in one piece."""
    yield "title", f"{{{escape(work.title)}}}"
    organization = work.organization and f"{{{escape(work.organization)}}}"
    yield "author", organization or " and ".join(map(escape, work.authors))
    if work.year is not None:
        yield "year", str(work.year)
    for name in ("journal", "booktitle", "volume", "number", "note"):
        if value := getattr(work, name):
            yield name, escape(value)
    if work.pages:
        yield "pages", escape(work.pages).replace("-", "--")
    if work.doi:
        yield "doi", work.doi
    if work.arxiv:
        yield "eprint", work.arxiv
        yield "archiveprefix", "arXiv"
    if url := work.url or (work.arxiv and f"https://arxiv.org/abs/{work.arxiv}"):
        yield "url", url


def _key(work: Work) -> str:
    author = work.organization or family_name(work.authors[0])
    title = [word for word in WORD.findall(_plain(work.title)) if word not in SHORT_WORDS]
    return f"{''.join(WORD.findall(_plain(author)))}{work.year or ''}{title[0] if title else ''}"


def _plain(text: str) -> str:
    """Letters of a text, small and without accents."""
    return unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode().lower()
