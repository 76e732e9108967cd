"""IAM-OnDB as its makers publish it: an archive of XML files (one for each line), an archive of transcriptions, and
lists of the splits.

lineStrokes-all.tar.gz   lineStrokes/a01/a01-000/a01-000u-01.xml
ascii-all.tar.gz         ascii/a01/a01-000/a01-000u.txt; its part CSR has the lines
trainset.txt, testset_v.txt, testset_t.txt, testset_f.txt   a01-000u
"""

import re
from collections.abc import Iterator, Mapping
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
FORM = re.compile(r"[a-z]\d\d-\d{3}[a-z]?")
LINE = re.compile(rf"(?P<form>{FORM.pattern})-(?P<number>\d\d)")
UNMATCHED = frozenset({"a08-551z"})
"""Forms that are left out: this form has nine lines and eight transcriptions; which line lacks one is not known."""
WHOLE = re.compile(r"-?[0-9]{1,9}")
FARTHEST = 2**20  # coordinates; the whiteboard's are below 2**14


@dataclass(frozen=True, slots=True)
class HandwrittenLine:
    """A line of handwriting: points (T, 3), float32, in units of the whiteboard, and the text that was written."""

    name: str
    points: Tensor
    text: str


def read(datasets_dir: Path | None) -> tuple[list[tuple[str, HandwrittenLine]], dict[str, str]]:
    """Read all lines, sorted by name, each with its split, and the digests of the files.

    Lines of three forms that are in no split are left out, and so are lines of the forms in ``UNMATCHED``.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not what it should be; the message names the file and
            the line in it.
    """
    dataset = DATASETS[NAME]
    split_of = _splits({split: read_bytes(dataset, f"{split}.txt", datasets_dir) for split in SPLITS})
    texts: dict[str, list[str]] = {}
    for name, form, content in _members(TEXTS, ".txt", datasets_dir):
        if form in texts:
            raise DatasetCorrupt(f"{name}: {form} is there twice; download the archive again")
        texts[form] = transcription(content, name)
    written: dict[str, dict[int, Tensor]] = {form: {} for form in split_of}
    for name, stem, content in _members(STROKES, ".xml", datasets_dir):
        matched = LINE.fullmatch(stem)
        if matched is None:
            raise DatasetCorrupt(f"{name}: expected a name such as a01-000u-01.xml; download the archive again")
        own = written.get(matched["form"])
        if own is not None:
            if int(matched["number"]) in own:
                raise DatasetCorrupt(f"{name}: {stem} is there twice; download the archive again")
            own[int(matched["number"])] = parse_strokes(content, name)
    lines = [
        (split_of[form], HandwrittenLine(f"{form}-{number:02}", own[number], text))
        for form, own in sorted(written.items())
        if form not in UNMATCHED
        for number, text in enumerate(_match_texts(form, own, texts.get(form, []), split_of[form]), 1)
    ]
    return lines, present_checksums(dataset, datasets_dir)


def _splits(lists: Mapping[str, bytes]) -> dict[str, str]:
    """Parse the lists of the splits: the split of each form."""
    found: dict[str, str] = {}
    for split, content in lists.items():
        for number, line in enumerate(lines_of(content.decode("latin-1")), 1):
            form, where = line.strip(), f"{split}.txt, line {number}"
            if not form:
                continue
            if not FORM.fullmatch(form):
                raise DatasetCorrupt(f"{where}: expected a form such as a01-000u, received {form[:20]!r}")
            if form in found:
                raise DatasetCorrupt(f"{where}: {form} is in {found[form]}.txt already; download the lists again")
            found[form] = split
    return found


def _match_texts(form: str, written: Mapping[int, Tensor], told: list[str], split: str) -> list[str]:
    """Check that each written line of the form has a text and each text a written line; returns the texts."""
    if not written:
        raise DatasetCorrupt(f"{split}.txt names {form}, but {STROKES} has no line of it; download both again")
    if sorted(written) != list(range(1, len(told) + 1)):
        numbers = ", ".join(map(str, sorted(written)))
        raise DatasetCorrupt(
            f"{form}: {STROKES} has lines {numbers}, but {TEXTS} has {len(told)} lines of text; download both again"
        )
    return told


def parse_strokes(content: bytes, name: str) -> Tensor:
    """Parse the XML file of a line of handwriting into points (T, 3).

    Raises:
        DatasetCorrupt: the file has another form; the message has the line of the file at fault.
    """
    strokes: list[list[tuple[int, int]]] = []
    begins: list[int] = []  # line of the file where each stroke begins
    within = False
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal within
        where = f"{name}, line {parser.CurrentLineNumber}"
        if tag == "Stroke":
            if within:
                raise DatasetCorrupt(f"{where}: a Stroke within a Stroke; download the archive again")
            within = True
            strokes.append([])
            begins.append(parser.CurrentLineNumber)
        elif tag == "Point":
            if not within:
                raise DatasetCorrupt(f"{where}: a Point outside a Stroke; download the archive again")
            try:
                strokes[-1].append((_coordinate(attributes["x"]), _coordinate(attributes["y"])))
            except (KeyError, ValueError) as error:
                raise DatasetCorrupt(
                    f"{where}: expected a Point with whole numbers x and y, at most {FARTHEST:,} ({error});"
                    " download the archive again"
                ) from error

    def end(tag: str) -> None:
        nonlocal within
        within = within and tag != "Stroke"

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DatasetCorrupt(f"{name}, line {error.lineno}: {error}; download the archive again") from error
    except (LookupError, ValueError) as error:  # the file names an encoding that Python does not have
        raise DatasetCorrupt(f"{name}, line {parser.CurrentLineNumber}: {error}; download the archive again") from error
    if sum(map(len, strokes)) == 1:
        raise DatasetCorrupt(f"{name}, line {begins[0]}: expected a line of two points or more")
    empty = next((line for stroke, line in zip(strokes, begins, strict=True) if not stroke), None)
    if empty is not None or not strokes:
        where = name if empty is None else f"{name}, line {empty}"
        raise DatasetCorrupt(f"{where}: expected a Stroke or more, each of a Point or more")
    at = torch.tensor([point for stroke in strokes for point in stroke], dtype=torch.float32)
    ends = torch.zeros(len(at))
    ends[torch.tensor([len(stroke) for stroke in strokes]).cumsum(0) - 1] = 1
    moves = torch.cat([at.new_zeros(1, 2), at.diff(dim=0)])
    return torch.cat([moves, ends.unsqueeze(1)], 1)


def _coordinate(text: str) -> int:
    if not WHOLE.fullmatch(text) or abs(int(text)) > FARTHEST:
        raise ValueError(f"received {text[:20]}")
    return int(text)


def transcription(content: bytes, name: str) -> list[str]:
    """Parse the transcription of a form: its lines are those after ``CSR:``.

    Raises:
        DatasetCorrupt: the file has no line ``CSR:``, or has a character that is not printable ASCII.
    """
    lines = lines_of(content.decode("latin-1"))
    try:
        begin = next(k for k, line in enumerate(lines) if line.strip() == "CSR:") + 1
    except StopIteration:
        raise DatasetCorrupt(
            f"{name}: expected a line CSR: before the transcription; download the archive again"
        ) from None
    for number, line in enumerate(lines[begin:], begin + 1):
        strange = next((c for c in line if not " " <= c <= "~"), None)
        if strange is not None:
            raise DatasetCorrupt(
                f"{name}, line {number}: expected printable ASCII, received {strange!r}; download the archive again"
            )
    return [line.strip() for line in lines[begin:] if line.strip()]


def _members(archive: str, suffix: str, datasets_dir: Path | None) -> Iterator[tuple[str, str, bytes]]:
    """Archive and path (for messages), stem, and content of each file in the archive whose name ends in ``suffix``."""
    dataset = DATASETS[NAME]
    path = locate(dataset, dataset.file(archive), datasets_dir)
    for member, content in files_of_tar(path, suffix):
        name = PurePosixPath(member)
        yield f"{path.name}: {name}", name.stem, content
