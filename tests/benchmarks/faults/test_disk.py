"""The artifact disk fills up, is freed, and ends together with the process that mounted it."""

import errno
import os
from pathlib import Path

import pytest

from benchmarks.faults.disk import Absent, SmallDisk, disk


def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path) -> None:
    with disk(tmp_path / "artifacts") as artifacts:
        (artifacts.folder / "kept").write_bytes(b"1")
        artifacts.fill()
        with pytest.raises(OSError) as refused:
            (artifacts.folder / "more").write_bytes(bytes(10_000))
        assert refused.value.errno == (errno.ENOSPC if isinstance(artifacts, SmallDisk) else errno.ENOTDIR)
        artifacts.free()
        (artifacts.folder / "more").write_bytes(bytes(10_000))
        assert (artifacts.folder / "kept").read_bytes() == b"1"
    assert not os.path.ismount(tmp_path / "artifacts")


def test_the_folder_is_absent_for_a_while_where_mounting_is_not_allowed(tmp_path: Path) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    (folder / "kept").write_bytes(b"1")
    absent = Absent(folder)
    absent.fill()
    with pytest.raises(NotADirectoryError):
        (folder / "more").write_bytes(b"2")
    absent.free()
    assert (folder / "kept").read_bytes() == b"1"
