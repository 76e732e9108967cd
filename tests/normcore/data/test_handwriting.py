"""Handwriting is read from the official archives and from the packed file, and errors in the files are named."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
import torch

from normcore.data import handwriting
from normcore.data.handwriting import encode_text
from normcore.data.iam_ondb import parse_strokes, transcription
from normcore.data.registry import DATASETS, DatasetCorrupt, status
from normcore.spec.tasks.handwriting import ALPHABET, KINDS, OTHER

XML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<WhiteboardCaptureSession>
    <WhiteboardDescription>
        <SensorLocation corner="top_left"/>
        <DiagonallyOppositeCoords x="6512" y="1376"/>
    </WhiteboardDescription>
    <StrokeSet>
        <Stroke colour="black" start_time="769.05" end_time="769.64">
            <Point x="{x}" y="1113" time="769.05"/>
            <Point x="1076" y="1117" time="769.07"/>
        </Stroke>
        <Stroke colour="black" start_time="770.05" end_time="770.64">
            <Point x="1080" y="1110" time="770.05"/>
        </Stroke>
    </StrokeSet>
</WhiteboardCaptureSession>
"""
TEXT = "OCR:\n\nA WOVE to stop\nfrom\n\nCSR:\n\nA MOVE to stop\nfrom nominating\n"


def archive(path: Path, members: dict[str, str]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            tar.addfile(info, io.BytesIO(content.encode()))


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """Folder with two forms of two lines each, in the official format."""
    folder = tmp_path / "iam_ondb"
    folder.mkdir()
    lines = [(form, k) for form in ("a01-000u", "b02-001") for k in (1, 2)]
    archive(
        folder / "lineStrokes-all.tar.gz",
        {f"lineStrokes/{f[:3]}/{f[:7]}/{f}-0{k}.xml": XML.format(x=1000 + k) for f, k in lines},
    )
    archive(
        folder / "ascii-all.tar.gz",
        {f"ascii/{form[:3]}/{form[:7]}/{form}.txt": TEXT for form in ("a01-000u", "b02-001")},
    )
    for split, form in (("trainset", "a01-000u"), ("testset_v", "b02-001"), ("testset_t", ""), ("testset_f", "")):
        (folder / f"{split}.txt").write_text(f"{form}\n")
    return tmp_path


def test_the_official_archives_are_read(official: Path) -> None:
    assert status(DATASETS["iam_ondb"], official) == "present"
    lines = handwriting.load("iam_ondb", official)
    assert [(line.name, line.text) for line in lines.train] == [
        ("a01-000u-01", "A MOVE to stop"),
        ("a01-000u-02", "from nominating"),
    ]
    assert [line.name for line in lines.valid] == ["b02-001-01", "b02-001-02"]
    assert lines.train[0].points.tolist() == [[0, 0, 0], [75, 4, 1], [4, -7, 1]]
    assert len(lines.checksums) == 6
    assert all(len(digest) == 64 for digest in lines.checksums.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (XML.format(x=1)[:-30], r"a\.xml, line 15: "),
        (XML.format(x="one"), r"a\.xml, line 9: expected a Point with whole numbers x and y"),
        (XML.format(x="9" * 61), r"a\.xml, line 9: expected a Point .* at most 1,048,576 \(received 99999"),
        (XML.format(x="9" * 5000), r"a\.xml, line 9: expected a Point with whole numbers x and y"),
        (XML.format(x=1).replace(' y="1110"', ""), r"a\.xml, line 13: expected a Point with whole numbers x and y"),
        (XML.format(x=1).replace("ISO-8859-1", "klingon"), r"a\.xml, line 1: unknown encoding"),
        *(
            (XML.format(x=x), r"a\.xml, line 9: expected a Point with whole numbers x and y")
            for x in ("1_0", " 1", "\u0661", "1.0", "")
        ),
        *((XML.format(x=1).replace("ISO-8859-1", name), r"a\.xml, line 1: ") for name in ("utf-7", "euc-jp", "utf-32")),
        ('<S>\n<Stroke><Point x="1" y="2"/></Stroke></S>', r"a\.xml, line 2: expected a line of two points or more"),
        (XML.format(x=1).replace("<Point", "</Stroke><Point", 1), r"a\.xml, line 9: a Point outside a Stroke"),
        (XML.format(x=1).replace("<Point", "<Stroke><Point", 1), r"a\.xml, line 9: a Stroke within a Stroke"),
        ('<StrokeSet>\n<Point x="1" y="2"/></StrokeSet>', r"a\.xml, line 2: a Point outside a Stroke"),
        ("<WhiteboardCaptureSession/>", r"a\.xml: expected a Stroke or more"),
        ("<StrokeSet>\n<Stroke/></StrokeSet>", r"a\.xml, line 2: expected a Stroke or more, each of a Point or more"),
    ],
)
def test_invalid_xml_file_is_named(content: str, message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=message):
        parse_strokes(content.encode(), "a.xml")


def test_form_whose_lines_and_texts_do_not_match_is_left_out(official: Path) -> None:
    lines = [("a08-551z", k) for k in (1, 2, 3)] + [("a01-000u", k) for k in (1, 2)] + [("z01-000z", 1)]
    folder = official / "iam_ondb"
    archive(folder / "lineStrokes-all.tar.gz", {f"{f}-0{k}.xml": XML.format(x=k) for f, k in lines})
    archive(folder / "ascii-all.tar.gz", {f"{form}.txt": TEXT for form in ("a08-551z", "a01-000u")})
    (folder / "testset_v.txt").write_text("a08-551z\n")
    with pytest.raises(DatasetCorrupt, match="iam_ondb has 2 lines to train on and 0 to validate"):
        handwriting.load("iam_ondb", official)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("a01-000u\nb2-001", r"trainset\.txt, line 2: expected a form such as a01-000u, received 'b2-001'"),
        ("a01-000u é", r"trainset\.txt, line 1: expected a form such as a01-000u, received 'a01-000u "),
        ("a01-000u\na01-000u", r"trainset\.txt, line 2: a01-000u is in trainset\.txt already"),
        ("a01-000u\n\nc03-000", r"trainset\.txt names c03-000, but lineStrokes-all\.tar has no line of it"),
    ],
)
def test_a_list_that_does_not_name_forms_of_the_archive_is_named(official: Path, names: str, message: str) -> None:
    (official / "iam_ondb" / "trainset.txt").write_text(names)
    with pytest.raises(DatasetCorrupt, match=message):
        handwriting.load("iam_ondb", official)


def test_form_belongs_to_a_single_split(official: Path) -> None:
    (official / "iam_ondb" / "testset_t.txt").write_text(" a01-000u\n")
    with pytest.raises(DatasetCorrupt, match=r"testset_t\.txt, line 1: a01-000u is in trainset\.txt already"):
        handwriting.load("iam_ondb", official)


@pytest.mark.parametrize(
    ("member", "content", "message"),
    [
        ("ascii/a01-000u.txt", TEXT + "indeed\n", r"a01-000u: lineStrokes-all\.tar has lines 1, 2, but .* has 3 lines"),
        ("ascii/a01-000u.txt", TEXT.replace("from nominating", ""), r"a01-000u: .* lines 1, 2, but .* has 1 lines"),
        ("ascii/a01-000x.txt", TEXT, r"a01-000u: .* lines 1, 2, but ascii-all\.tar has 0 lines of text"),
    ],
)
def test_form_has_as_many_lines_as_texts(official: Path, member: str, content: str, message: str) -> None:
    archive(official / "iam_ondb" / "ascii-all.tar.gz", {member: content, "ascii/b02-001.txt": TEXT})
    with pytest.raises(DatasetCorrupt, match=message):
        handwriting.load("iam_ondb", official)


def test_duplicate_in_an_archive_is_named(official: Path) -> None:
    folder = official / "iam_ondb"
    archive(folder / "ascii-all.tar.gz", {f"{k}/a01-000u.txt": TEXT for k in "ab"})
    with pytest.raises(DatasetCorrupt, match=r"ascii-all\.tar\.gz: b/a01-000u\.txt: a01-000u is there twice"):
        handwriting.load("iam_ondb", official)
    archive(folder / "ascii-all.tar.gz", {f"{form}.txt": TEXT for form in ("a01-000u", "b02-001")})
    archive(folder / "lineStrokes-all.tar.gz", {f"{k}/a01-000u-01.xml": XML.format(x=1) for k in "ab"})
    with pytest.raises(DatasetCorrupt, match=r"b/a01-000u-01\.xml: a01-000u-01 is there twice"):
        handwriting.load("iam_ondb", official)


def test_a_transcription_is_what_follows_csr() -> None:
    assert transcription(TEXT.encode(), "a.txt") == ["A MOVE to stop", "from nominating"]
    with pytest.raises(DatasetCorrupt, match=r"a\.txt: expected a line CSR:"):
        transcription(b"OCR:\n\nsomething\n", "a.txt")
    with pytest.raises(DatasetCorrupt, match=r"a\.txt, line 3: expected printable ASCII, received 'é'"):
        transcription("CSR:\n\ncafé\n".encode("latin-1"), "a.txt")


def test_the_packed_file_holds_all_lines(datasets_dir: Path) -> None:
    lines = handwriting.load("iam_ondb_packed", datasets_dir)
    assert (len(lines.train), len(lines.valid)) == (5364 + 3859 + 1518 - 9, 1438), "nine have no transcription"
    moves = torch.cat([lines.standardize_line(line, 10_000)[:, :2] for line in lines.train])
    assert moves.double().mean(0).abs().max() < 1e-4
    assert (moves.double().std(0) - 1).abs().max() < 1e-4
    ends = torch.cat([line.points[:, 2] for line in lines.valid])
    assert set(ends.flatten().tolist()) == {0.0, 1.0}
    assert all(line.points[-1, 2] == 1 for line in lines.valid)


def test_alphabet_has_57_characters() -> None:
    assert KINDS == 57
    assert encode_text('Ab ."').tolist() == [ALPHABET.index(c) for c in 'Ab ."']
    assert encode_text("1(-").tolist() == [OTHER] * 3
    with pytest.raises(ValueError, match="expected printable ASCII, received 'ö'"):
        encode_text("Größe")


def test_unknown_digest_of_a_file_is_computed_from_its_content(official: Path) -> None:
    before = handwriting.load("iam_ondb", official).checksums
    path = official / "iam_ondb" / "trainset.txt"
    with gzip.open(f"{path}.gz", "wb") as packed:
        packed.write(path.read_bytes())
    path.unlink()
    assert handwriting.load("iam_ondb", official).checksums == before
