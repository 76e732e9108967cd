"""Code of entries, and which entries of a board have older code than others.

A board compares its entries. So entries that share a part must have the same code of this part: of the task, and of a
model, optimizer or method with the same name.
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
NAMES = {"task": "task", "model": "model", "optimizer": "optimizer", "norm": "method"}  # the most important first
PARTS = tuple(NAMES)
BEFORE = datetime.min.replace(tzinfo=UTC)

PartCodes = Mapping[str, Sequence[str | None]]  # by part of a spec: its tag, and the digest of its code
Digests = Mapping[str, Mapping[str, str | None]]  # by part of a spec and tag


class EntryWithCode(Protocol):
    """An entry with the code of its parts. The digest of a part is None if the runs did not record their code."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def parts(self) -> PartCodes | None: ...

    @property
    def code_at(self) -> datetime | None: ...


class PresentCode:
    """Digests of the code in this machine's files. To read them takes 20 ms, so they are read once a second at most."""

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
        """Version of the code; it changes with each edit."""
        return digest(self.digests())


PRESENT = PresentCode()


def present_parts(parts: PartCodes, present: Digests) -> PartCodes:
    """Replace the digests of an entry's parts by the digests of this machine's files."""
    return {part: [tag, present.get(part, {}).get(str(tag))] for part, (tag, _) in parts.items()}


def code_of(parts: PartCodes) -> str:
    """One digest for all parts, see ``normcore.own_code.present_code``."""
    return digest({part: own for part, (_, own) in parts.items()})


def older_parts(entries: Iterable[EntryWithCode], present: Digests) -> dict[str, list[str]]:
    """Find the parts of each entry's spec for which the board has newer code, by fingerprint. Entries without such
    parts are left out.

    For each part and tag, the present code counts if an entry has it, else the code of the entry that was trained last.
    An entry without recorded code has no older parts, because nothing shows that its code differs.

    Args:
        present: digests of this machine's files; empty for the board of a past moment.
    """
    in_order = sorted(entries, key=lambda entry: entry.code_at or BEFORE)
    told: dict[tuple[str, str], list[str]] = {}
    for entry in in_order:
        for part, (tag, own) in (entry.parts or {}).items():
            if own is not None:
                told.setdefault((part, str(tag)), []).append(own)
    counts = {(part, tag): _choose_code(codes, present.get(part, {}).get(tag)) for (part, tag), codes in told.items()}
    older = {entry.fingerprint: _find_older_parts(entry.parts or {}, counts) for entry in in_order}
    return {fingerprint: parts for fingerprint, parts in older.items() if parts}


def differing_parts(one: PartCodes | None, other: PartCodes | None) -> list[str]:
    """Parts of a spec that have different code in two entries of this spec."""
    return [part for part in PARTS if (one or {}).get(part) != (other or {}).get(part)]


def describe_older(entries: Sequence[Sequence[str]]) -> str:
    """Number of entries of older code, in words.

    Args:
        entries: the older parts of each entry; the first of these parts names the entry.
    """
    counts = Counter(NAMES[parts[0]] for parts in entries)
    told = wording.listed([f"{wording.count(number, 'entry')} of an older {name}" for name, number in counts.items()])
    be, them = ("is", "it") if len(entries) == 1 else ("are", "them")
    return f"{told} {be} set aside; submit {them} again."


def _choose_code(codes: Sequence[str], present: str | None) -> str:
    return present if present is not None and present in codes else codes[-1]


def _find_older_parts(own: PartCodes, counts: Mapping[tuple[str, str], str]) -> list[str]:
    found = []
    for part in PARTS:
        tag, code = own.get(part, (None, None))
        if code is not None and counts.get((part, str(tag)), code) != code:
            found.append(part)
    return found
