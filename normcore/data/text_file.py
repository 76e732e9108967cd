"""A user's own text file below the data sets' directory: find it, check it, read it. Torch-free."""

import codecs
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from normcore.data.files import DatasetCorrupt, DatasetMissing, chunks

TEXT = ("task", "file")  # the field of a spec that names the text
MAX_TEXT_BYTES = 1 << 30
MAX_SYMBOLS = 10_000
MIN_CHARACTERS = 200  # so that the validation and the test text have 10


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Facts that identify a text, and decide if it can be trained on.

    Attributes:
        sha256: digest of the uncompressed bytes.
        characters: number of characters of the text.
        symbols: number of different characters of the text.
        alike: number of characters at the beginning of the text that equal its first character.
    """

    sha256: str
    characters: int
    symbols: int
    alike: int


def locate_text(file: str, datasets_dir: Path | None) -> Path:
    """Find the text file. A symbolic link may not lead out of the data sets' directory.

    Raises:
        DatasetMissing: the file is not there, or lies outside the data sets' directory.
    """
    if datasets_dir is None:
        raise DatasetMissing(f"text file '{file}': no data sets' directory was given (NORMBENCH_DATASETS_DIR)", TEXT)
    path = (datasets_dir / file).resolve()
    if not path.is_relative_to(datasets_dir.resolve()):
        raise DatasetMissing(f"text file '{file}' lies outside {datasets_dir}; copy it into that folder", TEXT)
    if not path.is_file():
        raise DatasetMissing(f"text file '{file}' is not in {datasets_dir}; copy it there", TEXT)
    return path


def examine_text(file: str, datasets_dir: Path | None, expected: str | None) -> TextFacts:
    """Read the text once to see whether it can be used; the answer is cached until the file changes.

    Raises:
        DatasetMissing: the file is not there.
        DatasetCorrupt: the file cannot be read, is not UTF-8, cannot be modelled in characters (``check_text``), or has
            another digest than ``expected``.
    """
    path = locate_text(file, datasets_dir)
    try:
        found = path.stat()
    except OSError as error:
        raise DatasetCorrupt(f"{path} cannot be read: {error}", TEXT) from error
    facts = _facts(file, path, found.st_size, found.st_mtime_ns)
    check_text(file, facts)
    _check_digest(file, facts.sha256, expected)
    return facts


def read_text(file: str, datasets_dir: Path | None, expected: str | None) -> tuple[str, str]:
    """Read the text; returns the text and its digest.

    Raises:
        DatasetMissing, DatasetCorrupt: as ``examine_text``.
    """
    pieces: list[str] = []
    facts = _examine(file, locate_text(file, datasets_dir), pieces.append)
    _check_digest(file, facts.sha256, expected)
    check_text(file, facts)
    return "".join(pieces), facts.sha256


def check_text(name: str, facts: TextFacts) -> None:
    """Check that a text can be modelled in characters.

    Raises:
        DatasetCorrupt: the text is too short, has too many different characters, or its training part consists of one
            character over and over.
    """
    if facts.characters < MIN_CHARACTERS:
        raise DatasetCorrupt(f"text '{name}' has {facts.characters} characters; use {MIN_CHARACTERS} or more", TEXT)
    if facts.symbols > MAX_SYMBOLS:
        told = f"text '{name}' has {facts.symbols:,} different characters; use {MAX_SYMBOLS:,} at most"
        raise DatasetCorrupt(told, TEXT)
    train, _ = split_points(facts.characters)
    if facts.alike >= train:
        where = "" if facts.alike == facts.characters else ", in its training part (the first 90%)"
        told = f"text '{name}' has one character, over and over{where}; use a text with two or more"
        raise DatasetCorrupt(told, TEXT)


def split_points(characters: int) -> tuple[int, int]:
    """Positions where the validation text and the test text begin: the first 90% train, the next 5% validate."""
    return characters * 90 // 100, characters * 95 // 100


@lru_cache(maxsize=64)
def _facts(file: str, path: Path, size: int, mtime_ns: int) -> TextFacts:
    return _examine(file, path, lambda part: None)


def _examine(file: str, path: Path, use: Callable[[str], None]) -> TextFacts:
    """Find the facts of a text, and call ``use`` with each piece of it."""
    digest, characters, symbols = hashlib.sha256(), 0, set[str]()
    first, alike = "", 0
    for part in _decode_pieces(file, path, digest):
        first = first or part[:1]
        if alike == characters:
            alike += len(part) - len(part.lstrip(first))
        characters += len(part)
        symbols.update(part)
        use(part)
    return TextFacts(digest.hexdigest(), characters, len(symbols), alike)


def _decode_pieces(file: str, path: Path, digest: "hashlib._Hash") -> Iterator[str]:
    """Decode the text file piece by piece, and update ``digest`` with its bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    try:
        for chunk in chunks(path, limit=MAX_TEXT_BYTES):
            digest.update(chunk)
            pending = len(decoder.getstate()[0])
            yield decoder.decode(chunk)
            done += len(chunk)
        pending = len(decoder.getstate()[0])
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DatasetCorrupt(
            f"text file '{file}' is not UTF-8 (byte {done - pending + error.start:,}); convert it, or add .gz to its"
            " name if it is compressed",
            TEXT,
        ) from error
    except DatasetCorrupt as error:
        raise DatasetCorrupt(f"text file '{file}': {error}; copy it again", TEXT) from error


def _check_digest(file: str, actual: str, expected: str | None) -> None:
    if expected is not None and actual != expected:
        raise DatasetCorrupt(
            f"text file '{file}' has SHA-256 {actual}, and the spec asks for {expected}; leave sha256 out, or put"
            " the text with that digest there",
            ("task", "sha256"),
        )
