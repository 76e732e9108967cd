"""One file is read out of an archive, or it is said why not."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from normcore.data.archive import member_chunks
from normcore.data.stored import DatasetCorrupt

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
def test_damage_in_the_middle_is_noticed(tmp_path: Path, kind: str, damage: bytes) -> None:
    path = packed(tmp_path, kind)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + len(damage)] = damage
    path.write_bytes(content)
    with pytest.raises(DatasetCorrupt, match=rf"all\.{kind} is not a readable archive"):
        list(member_chunks(path, "all/part.bin"))
