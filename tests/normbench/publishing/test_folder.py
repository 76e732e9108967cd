"""The folder of a publication: refused if it is not empty, and only its own files are replaced."""

import json
from pathlib import Path

import pytest

from normbench import Invalid
from normbench.publishing.folder import Folder

FIRST = {"index.html": b"1", "boards/a.html": b"a", "boards/b.html": b"b"}
SECOND = {"index.html": b"2", "boards/a.html": b"a2"}


def contents(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_files_are_written_with_a_list_of_them(tmp_path: Path) -> None:
    target = tmp_path / "new" / "site"
    assert Folder(target, force=False).write(FIRST, {"by": "me"}) == []
    found = contents(target)
    listed = json.loads(found.pop("published.json"))
    assert found == FIRST
    assert listed == {"by": "me", "files": sorted(FIRST)}
    assert [path.name for path in target.parent.iterdir()] == ["site"], "nothing is left beside it"


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(Invalid, match=r"is not empty \(it has thesis\.tex\).*--force"):
        Folder(tmp_path, force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(Invalid, match="is a file; name a folder"):
        Folder(tmp_path / "thesis.tex", force=True)


def test_force_replaces_the_files_of_the_earlier_publication_alone(tmp_path: Path) -> None:
    Folder(tmp_path, force=False).write(FIRST, {})
    (tmp_path / "boards" / "mine.txt").write_text("mine")
    with pytest.raises(Invalid, match=r"has an earlier publication.*--force"):
        Folder(tmp_path, force=False)
    assert Folder(tmp_path, force=True).write(SECOND, {}) == ["boards/b.html"]
    found = contents(tmp_path)
    assert json.loads(found.pop("published.json"))["files"] == sorted(SECOND)
    assert found == {**SECOND, "boards/mine.txt": b"mine"}


def test_a_folder_that_is_left_empty_goes(tmp_path: Path) -> None:
    Folder(tmp_path, force=False).write({**FIRST, "methods/a/b.html": b""}, {})
    Folder(tmp_path, force=True).write(FIRST, {})
    assert not (tmp_path / "methods").exists()


def test_a_file_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(Invalid, match=r"index\.html is not a file of publish; move it away"):
        Folder(tmp_path, force=True).write(FIRST, {})
    assert contents(tmp_path) == {"index.html": b"mine"}


def test_a_publication_that_was_interrupted_can_be_repeated(tmp_path: Path) -> None:
    Folder(tmp_path, force=False).write(FIRST, {})
    (tmp_path / "index.html").unlink()
    (tmp_path / "index.html").mkdir()  # so that the last file cannot be moved
    with pytest.raises(OSError, match="directory"):
        Folder(tmp_path, force=True).write(SECOND, {})
    (tmp_path / "index.html").rmdir()
    again = Folder(tmp_path, force=True)
    assert again.was_interrupted
    again.write(SECOND, {})
    assert not Folder(tmp_path, force=True).was_interrupted
    assert set(contents(tmp_path)) == {*SECOND, "published.json"}


@pytest.mark.parametrize("written", ["[]", "{", '{"files": 1}'])
def test_a_list_that_publish_did_not_write_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "published.json").write_text(written)
    with pytest.raises(Invalid, match=r"published\.json is not a list that publish wrote"):
        Folder(tmp_path, force=True)


@pytest.mark.parametrize("name", ["../secret", "{folder}/secret", "a/../../secret"])
def test_a_list_cannot_name_files_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    secret, target = tmp_path / "secret", tmp_path / "site"
    secret.write_text("mine")
    target.mkdir()
    (target / "published.json").write_text(json.dumps({"files": [name.format(folder=tmp_path)]}))
    assert Folder(target, force=True).write(FIRST, {}) == []
    assert secret.read_text() == "mine"
