"""Digests of source files change only with the code in the files."""

import os
import time
from pathlib import Path

import pytest

from normcore import source_files
from normcore.source_files import (
    code_in,
    digest_of,
    keep_digests,
    known_digests,
    source_of_module,
    sources_of_package,
    state_of,
)

CODE = b'''"""What it is."""

import math

NAME = "# no comment"


def area(radius):  # in m
    """Of a circle."""
    # as everybody knows
    return math.pi * radius**2


class Empty:
    """Nothing."""
'''


def test_code_has_no_comments_docstrings_and_blank_lines() -> None:
    assert code_in(CODE).decode().splitlines() == [
        "import math",
        'NAME = "# no comment"',
        "def area(radius):",
        "    return math.pi * radius**2",
        "class Empty:",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"math.pi", b"3.14"),
        (b"radius**2", b"radius ** 2"),
        (b'"# no comment"', b'"# no remark"'),
        (b"    return", b"        return"),
        (b'NAME = "# no comment"', b'NAME = """# no\n\ncomment"""'),
    ],
)
def test_code_differs_after_any_change_that_python_reads(before: bytes, after: bytes) -> None:
    assert code_in(CODE.replace(before, after)) != code_in(CODE)


def test_a_form_feed_and_other_separators_move_no_comment_to_another_line() -> None:
    """``str.splitlines`` also splits at these characters; Python does not."""
    source = 'A = "\x0c \x85 \u2028"\nSCALE = 2.0\n# of everything\nB = 1\n'
    assert code_in(source.encode()) != code_in(source.replace("2.0", "3.0").encode())
    assert b"everything" not in code_in(source.encode())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"  # in m", b""),
        (b"Of a circle.", b"The area\n    of a circle."),
        (b"\n\n\n", b"\n"),
        (b"What it is.", b"What # it is."),
        (b"\n", b"\r\n"),
    ],
)
def test_comments_docstrings_and_line_ends_are_not_code(before: bytes, after: bytes) -> None:
    assert code_in(CODE.replace(before, after)) == code_in(CODE)


@pytest.mark.parametrize("source", [b"def broken(:\n", b"\xff\xfe", b"a = '''open\n", b"def f(): 'one line'\n"])
def test_invalid_python_and_docstrings_on_a_line_with_code_stay(source: bytes) -> None:
    assert code_in(source).strip() == source.strip()


def test_a_file_is_read_again_once_it_is_written_even_with_the_same_time_and_size(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"A = 1\n")
    first, state = digest_of(str(path)), state_of(str(path))
    assert state is not None
    time.sleep(0.02)  # a tick of the file system
    path.write_bytes(b"A = 2\n")
    os.utime(path, ns=(state.mtime_ns, state.mtime_ns))
    assert digest_of(str(path)) not in (None, first)
    path.unlink()
    assert digest_of(str(path)) is None


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder on the path with a package, a module, and a package within a namespace."""
    for file in ("own/__init__.py", "own/deep/layers.py", "own/__pycache__/x.py", "own/.git/y.py", "own/data.npy"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("raise RuntimeError('is imported')\n")
    (tmp_path / "alone.py").write_text("")
    (tmp_path / "group" / "member").mkdir(parents=True)
    (tmp_path / "group" / "member" / "__init__.py").write_text("")
    (tmp_path / "group" / "other.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_package_is_all_of_its_source_files_and_is_not_imported(site: Path) -> None:
    found = sources_of_package("own.deep.layers")
    assert sorted(source.name for source in found) == ["own/__init__.py", "own/deep/layers.py"]
    assert {source.path for source in found} == {str(site / source.name) for source in found}


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("alone", ["alone.py"]),
        ("group.member", ["group/member/__init__.py"]),
        ("group.other", ["group/member/__init__.py", "group/other.py"]),
        ("own.missing", ["own/__init__.py", "own/deep/layers.py"]),
        ("missing", []),
        ("missing.inner", []),
        ("__main__", []),
    ],
)
def test_sources_of_a_module_are_its_package_its_folder_or_its_file(site: Path, module: str, names: list[str]) -> None:
    assert sorted(source.name for source in sources_of_package(module)) == names


def test_linked_folders_are_followed_without_an_endless_cycle(site: Path) -> None:
    (site / "elsewhere").mkdir()
    (site / "elsewhere" / "kernel.py").write_text("A = 1\n")
    (site / "own" / "linked").symlink_to(site / "elsewhere")
    (site / "own" / "circle").symlink_to(site / "own")
    names = sorted(source.name for source in sources_of_package("own"))
    assert names == ["own/__init__.py", "own/deep/layers.py", "own/linked/kernel.py"]


def test_one_module_is_found_without_its_package(site: Path) -> None:
    assert [source.name for source in source_of_module("own.deep.layers")] == ["own/deep/layers.py"]
    assert [source.name for source in source_of_module("own")] == ["own/__init__.py"]
    assert source_of_module("own.deep.missing") == []


def test_files_that_vanish_while_a_folder_is_read_are_left_out(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanished(path: str) -> None:
        return None

    monkeypatch.setattr(source_files, "state_of", vanished)
    assert sources_of_package("own") == []


def test_a_digest_from_another_process_holds_until_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("ONE = 1\n")
    state = state_of(str(path))
    assert state is not None
    keep_digests({str(path): (state, "told")})
    assert digest_of(str(path)) == "told"
    assert known_digests()[str(path)] == (state, "told")
    path.write_text("ONE = 11\n")
    assert digest_of(str(path)) not in (None, "told")
