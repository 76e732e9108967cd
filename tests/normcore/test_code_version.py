"""Version of the code, determined without torch."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from normcore.code_version import SOURCE, code_version, output_of


def test_code_version_is_the_package_version_and_the_commit() -> None:
    found = code_version()
    assert found.version == version("normbench")
    if (SOURCE / ".git").exists():
        head = subprocess.run(["git", "-C", SOURCE, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        assert found.commit == head.stdout.strip()
        assert found.git == f"{found.commit}-dirty" if found.dirty else found.commit


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Git work tree with one committed module of the project."""
    (tmp_path / "normcore").mkdir()
    (tmp_path / "normcore" / "a.py").write_text("A = 1\n")
    (tmp_path / ".gitignore").write_text("*.yaml\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    monkeypatch.setattr("normcore.code_version.SOURCE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "dirty"),
    [
        ("normcore/a.py", True),
        ("normcore/scale_norm.py", True),
        ("normcore/ignored.yaml", False),
        ("spec.json", False),
    ],
)
def test_edited_and_untracked_files_of_the_packages_are_dirty(checkout: Path, file: str, dirty: bool) -> None:
    assert code_version().dirty is False
    (checkout / file).write_text("B = 2\n")
    assert code_version().dirty is dirty
    (checkout / "normcore" / "a.py").write_text("A = 1\n")
    (checkout / file).unlink() if file != "normcore/a.py" else None
    assert code_version().dirty is False


@pytest.mark.parametrize("linked", [False, True], ids=["checkout", "linked work tree"])
def test_new_commit_is_noticed(checkout: Path, linked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if linked:
        tree = checkout.with_name("linked")
        subprocess.run(["git", "-C", checkout, "worktree", "add", "-q", "--detach", tree], check=True)
        monkeypatch.setattr("normcore.code_version.SOURCE", checkout := tree)
    before = code_version().commit
    commit = ["commit", "-q", "--allow-empty", "-m", "b"]
    subprocess.run(["git", "-C", checkout, "-c", "user.name=a", "-c", "user.email=a@b", *commit], check=True)
    assert code_version().commit not in (None, before)


def test_without_git_there_is_no_commit_and_nothing_is_dirty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normcore.code_version.SOURCE", tmp_path)
    assert code_version()[1:] == (None, None)
    assert code_version().git is None


def test_failing_command_gives_no_output() -> None:
    assert output_of(sys.executable, "-c", "print(' a ')") == "a"
    assert output_of(sys.executable, "-c", "exit(1)") is None
    assert output_of("no-such-program") is None
