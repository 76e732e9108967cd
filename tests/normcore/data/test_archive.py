"""A file is read from an archive, or an error says why that is impossible."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from normcore.data.archive import files_of_tar, member_chunks
from normcore.data.files import DatasetCorrupt

CONTENT = bytes(range(256)) * 10_000


def packed(folder: Path, kind: str, member: str = "all/part.bin") -> Path:
    path = folder / f"all.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("all/", b"")
            archive.writestr(member, CONTENT)
        return path
    with tarfile.open(path, "w:gz") as archive_:
        info = tarfile.TarInfo(member)
        info.size = len(CONTENT)
        archive_.addfile(info, io.BytesIO(CONTENT))
    return path


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tgz"])
@pytest.mark.parametrize("member", ["all/part.bin", "./all/part.bin"])
def test_a_member_is_read_piece_by_piece(tmp_path: Path, kind: str, member: str) -> None:
    pieces = list(member_chunks(packed(tmp_path, kind, member), "all/part.bin"))
    assert b"".join(pieces) == CONTENT
    assert len(pieces) > 1


@pytest.mark.parametrize("kind", ["zip", "tgz"])
@pytest.mark.parametrize("absent", ["part.bin", "all", "other.bin"])
def test_a_member_that_is_not_there_is_named(tmp_path: Path, kind: str, absent: str) -> None:
    with pytest.raises(DatasetCorrupt, match=rf"all\.{kind} has no {absent}"):
        list(member_chunks(packed(tmp_path, kind), absent))


@pytest.mark.parametrize("kind", ["zip", "tgz"])
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"<html>moved</html>", lambda b: b""])
def test_a_damaged_archive_is_named(tmp_path: Path, kind: str, damage: object) -> None:
    path = packed(tmp_path, kind)
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DatasetCorrupt, match=rf"all\.{kind} is not a readable archive"):
        list(member_chunks(path, "all/part.bin"))


@pytest.mark.parametrize(("kind", "damage"), [("zip", b"\0"), ("zip", b"\xff" * 500), ("tgz", b"\xff" * 500)])
def test_damage_in_the_middle_of_an_archive_is_noticed(tmp_path: Path, kind: str, damage: bytes) -> None:
    path = packed(tmp_path, kind)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + len(damage)] = damage
    path.write_bytes(content)
    with pytest.raises(DatasetCorrupt, match=rf"all\.{kind} is not a readable archive"):
        list(member_chunks(path, "all/part.bin"))


def tar_of(files: int, mode: str) -> bytes:
    """Make a tar archive with ``files`` files of one block each."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for k in range(files):
            info = tarfile.TarInfo(f"all/{k}.txt")
            info.size = 512
            archive.addfile(info, io.BytesIO(512 * bytes([k])))
    return stream.getvalue()


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_all_files_of_a_tar_are_read_in_their_order(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "all.tar"
    path.write_bytes(tar_of(3, mode))
    assert list(files_of_tar(path, ".txt")) == [(f"all/{k}.txt", 512 * bytes([k])) for k in range(3)]


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes(255 - byte for byte in content[place : place + 20]) + content[place + 20 :]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tar_of(3, "w")[:2048], "cut or damaged after 2,048 bytes"),
        (tar_of(3, "w")[:2200], "cut or damaged after 2,048 bytes"),
        (flipped(tar_of(3, "w"), 2148), "cut or damaged after 2,048 bytes"),
        (tar_of(3, "w")[:2600], "unexpected end of data"),
        (flipped(tar_of(60, "w:gz"), 150), ""),
        (tar_of(60, "w:gz")[:-8], "end-of-stream marker"),
        (b"", "empty file"),
        (b"no tar at all", "truncated header|invalid header"),
    ],
    ids=["between files", "in a head", "a bad head", "in a file", "bad gzip", "gzip cut", "empty", "no tar"],
)
def test_truncated_tar_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "all.tar.gz"
    path.write_bytes(content)
    with pytest.raises(DatasetCorrupt, match=rf"all\.tar\.gz cannot be read: .*({message}).*; download it again"):
        list(files_of_tar(path, ".txt"))


def tar_with(path: Path, *infos: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as archive:
        for info in infos:
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    return path


def info(name: str, **fields: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def test_hidden_files_and_files_with_other_names_are_left_out(tmp_path: Path) -> None:
    path = tar_with(tmp_path / "all.tar", info("a/._1.txt", size=3), info("a/1.txt", size=2), info("a/1.text", size=1))
    assert list(files_of_tar(path, ".txt")) == [("a/1.txt", bytes(2))]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_broken_link_is_named(tmp_path: Path, kind: bytes) -> None:
    path = tar_with(tmp_path / "all.tar", info("a/1.txt", type=kind, linkname="nothing"))
    with pytest.raises(DatasetCorrupt, match=r"all\.tar cannot be read: .*nothing"):
        list(files_of_tar(path, ".txt"))


def test_duplicate_name_is_named(tmp_path: Path) -> None:
    path = tar_with(tmp_path / "all.tar", info("a/1.txt", size=1), info("a/1.txt", size=2))
    with pytest.raises(DatasetCorrupt, match=r"all\.tar has a/1\.txt twice"):
        list(files_of_tar(path, ".txt"))


def test_impossible_size_is_refused_before_reading(tmp_path: Path) -> None:
    """A damaged header can have such a size. No memory is allocated for it."""
    path = tmp_path / "all.tar"
    path.write_bytes(info("a/1.txt", size=1 << 40).tobuf() + bytes(2048))
    with pytest.raises(DatasetCorrupt, match=r"all\.tar: a/1\.txt has 1,099,511,627,776 bytes"):
        list(files_of_tar(path, ".txt"))
