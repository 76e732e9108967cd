"""The code that an entry shows, and entries of a board that are of older code than others.

A board ranks entries beside each other. So they have one code of each part that they share: of their task, and of a
model, an optimizer or a method of one name.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from normcore.own_code import digests
from normcore.spec import digest
from service import wording

LOOK_SECONDS = 1.0  # between two looks at the files
NAMES = {"task": "task", "model": "model", "optimizer": "optimizer", "norm": "method"}  # in the order of their weight
PARTS = tuple(NAMES)
BEFORE = datetime.min.replace(tzinfo=UTC)

Parts = Mapping[str, Sequence[str | None]]  # by part of a spec: its tag, and the digest of its code
Digests = Mapping[str, Mapping[str, str | None]]  # by part of a spec and tag


class Coded(Protocol):
    """An entry. The digest of a part is None if its runs do not tell their code."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def parts(self) -> Parts | None: ...

    @property
    def code_at(self) -> datetime | None: ...


class PresentCode:
    """Digests of the files of this machine. A look at the files takes 20 ms, so they are looked at once a second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looked_at, self._found = float("-inf"), dict[str, dict[str, str | None]]()

    def digests(self) -> Digests:
        """Digests by part of a spec and tag."""
        with self._lock:
            if time.monotonic() - self._looked_at >= LOOK_SECONDS:
                self._found, self._looked_at = digests(), time.monotonic()
            return self._found

    def version(self) -> str:
        """Another one after an edit."""
        return digest(self.digests())


PRESENT = PresentCode()


def present_parts(parts: Parts, present: Digests) -> Parts:
    """The parts of an entry with the code of this machine's files."""
    return {part: [tag, present.get(part, {}).get(str(tag))] for part, (tag, _) in parts.items()}


def code_of(parts: Parts) -> str:
    """One digest for all parts, see ``normcore.own_code.present_code``."""
    return digest({part: own for part, (_, own) in parts.items()})


def older_parts(entries: Iterable[Coded], present: Digests) -> dict[str, list[str]]:
    """Parts of a spec of which the board has newer code, by fingerprint; entries without such parts are left out.

    For each part of one tag the present code counts if an entry has it, else that of the entry that was trained last.
    An entry whose runs do not tell their code has no older parts: nothing shows that its code was another.

    Args:
        present: the code of this machine's files; empty for the board of a moment.
    """
    in_order = sorted(entries, key=lambda entry: entry.code_at or BEFORE)
    told: dict[tuple[str, str], list[str]] = {}
    for entry in in_order:
        for part, (tag, own) in (entry.parts or {}).items():
            if own is not None:
                told.setdefault((part, str(tag)), []).append(own)
    counts = {(part, tag): _counting(codes, present.get(part, {}).get(tag)) for (part, tag), codes in told.items()}
    older = {entry.fingerprint: _older(entry.parts or {}, counts) for entry in in_order}
    return {fingerprint: parts for fingerprint, parts in older.items() if parts}


def differing_parts(one: Parts | None, other: Parts | None) -> list[str]:
    """Parts of a spec of which two entries of it have different code."""
    return [part for part in PARTS if (one or {}).get(part) != (other or {}).get(part)]


def told_older(entries: Sequence[Sequence[str]]) -> str:
    """Number of entries of older code, in words.

    Args:
        entries: the older parts of each; the first names it.
    """
    counts = Counter(NAMES[parts[0]] for parts in entries)
    told = wording.listed([f"{wording.count(number, 'entry')} of an older {name}" for name, number in counts.items()])
    be, them = ("is", "it") if len(entries) == 1 else ("are", "them")
    return f"{told} {be} set aside; submit {them} again."


def _counting(codes: Sequence[str], present: str | None) -> str:
    return present if present is not None and present in codes else codes[-1]


def _older(own: Parts, counts: Mapping[tuple[str, str], str]) -> list[str]:
    found = []
    for part in PARTS:
        tag, code = own.get(part, (None, None))
        if code is not None and counts.get((part, str(tag)), code) != code:
            found.append(part)
    return found
