"""IAM-OnDB as its makers give it out: an archive with an XML file a line, one with transcriptions, lists of the splits.

lineStrokes-all.tar.gz   lineStrokes/a01/a01-000/a01-000u-01.xml
ascii-all.tar.gz         ascii/a01/a01-000/a01-000u.txt, whose part CSR has the lines
trainset.txt, testset_v.txt, testset_t.txt, testset_f.txt   a01-000u
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from xml.parsers import expat

import torch
from torch import Tensor

from normcore.data.archive import files_of_tar
from normcore.data.lines import lines_of
from normcore.data.registry import DATASETS, DatasetCorrupt, locate, present_checksums, read_bytes

NAME = "iam_ondb"
STROKES, TEXTS = "lineStrokes-all.tar", "ascii-all.tar"
SPLITS = ("trainset", "testset_v", "testset_t", "testset_f")
LINE = re.compile(r"(?P<form>[a-z]\d\d-\d{3}[a-z]*)-(?P<number>\d\d)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it was written: points (T, 3) float32 in units of the whiteboard, and its transcription."""

    name: str
    points: Tensor
    text: str


def read(datasets_dir: Path | None) -> tuple[list[tuple[str, Line]], dict[str, str]]:
    """Each line that has a transcription, with its split, in the order of their names; and the digests of the files.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not what it should be: it is named, with its line.
    """
    dataset = DATASETS[NAME]
    split_of = {
        form: split
        for split in SPLITS
        for form in read_bytes(dataset, f"{split}.txt", datasets_dir).decode("ascii").split()
    }
    texts = {form: transcription(text, name) for name, form, text in _members(TEXTS, ".txt", datasets_dir)}
    lines = []
    for name, stem, content in _members(STROKES, ".xml", datasets_dir):
        matched = LINE.fullmatch(stem)
        if matched is None:
            raise DatasetCorrupt(f"{name}: expected a name such as a01-000u-01.xml; get the archive anew")
        form, number = matched["form"], int(matched["number"])
        said = texts.get(form, [])
        if form in split_of and number <= len(said):
            lines.append((split_of[form], Line(stem, parse_strokes(content, name), said[number - 1])))
    return sorted(lines, key=lambda of: of[1].name), present_checksums(dataset, datasets_dir)


def parse_strokes(content: bytes, name: str) -> Tensor:
    """The points (T, 3) of a line's XML file.

    Raises:
        DatasetCorrupt: it is no such file; the message has the line where that shows.
    """
    strokes: list[list[tuple[int, int]]] = []
    begins: list[int] = []  # the line of each
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Stroke":
            strokes.append([])
            begins.append(parser.CurrentLineNumber)
        elif tag == "Point":
            try:
                strokes[-1].append((int(attributes["x"]), int(attributes["y"])))
            except (IndexError, KeyError, ValueError) as error:
                where = f"{name}, line {parser.CurrentLineNumber}"
                raise DatasetCorrupt(
                    f"{where}: expected a Point of a Stroke, with x and y that are whole numbers ({error})"
                ) from error

    parser.StartElementHandler = begin
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DatasetCorrupt(f"{name}, line {error.lineno}: {error}; get the archive anew") from error
    empty = next((line for stroke, line in zip(strokes, begins, strict=True) if not stroke), None)
    if empty is not None or not strokes:
        where = name if empty is None else f"{name}, line {empty}"
        raise DatasetCorrupt(f"{where}: expected a Stroke or more, each of a Point or more")
    at = torch.tensor([point for stroke in strokes for point in stroke], dtype=torch.float32)
    ends = torch.zeros(len(at))
    ends[torch.tensor([len(stroke) for stroke in strokes]).cumsum(0) - 1] = 1
    moves = torch.cat([at.new_zeros(1, 2), at.diff(dim=0)])
    return torch.cat([moves, ends.unsqueeze(1)], 1)


def transcription(content: bytes, name: str) -> list[str]:
    """The lines of a form: those after CSR.

    Raises:
        DatasetCorrupt: there is no such part, or a character that is none of printable ASCII.
    """
    lines = lines_of(content.decode("latin-1"))
    try:
        begin = next(k for k, line in enumerate(lines) if line.strip() == "CSR:") + 1
    except StopIteration:
        raise DatasetCorrupt(f"{name}: expected a line CSR: before the transcription; get the archive anew") from None
    for number, line in enumerate(lines[begin:], begin + 1):
        strange = next((c for c in line if not " " <= c <= "~"), None)
        if strange is not None:
            raise DatasetCorrupt(f"{name}, line {number}: expected printable ASCII, received {strange!r}")
    return [line.strip() for line in lines[begin:] if line.strip()]


def _members(archive: str, suffix: str, datasets_dir: Path | None) -> Iterator[tuple[str, str, bytes]]:
    """Path, stem and content of the archive's files with this suffix."""
    dataset = DATASETS[NAME]
    path = locate(dataset, dataset.file(archive), datasets_dir)
    for member, content in files_of_tar(path):
        name = PurePosixPath(member)
        if name.suffix == suffix and not name.name.startswith("."):
            yield f"{path.name}: {name}", name.stem, content
