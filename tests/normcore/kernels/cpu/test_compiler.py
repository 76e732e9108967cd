"""The compiler and its child processes always end, and errors of the compiler are reported."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from normcore.kernels.cpu import compiler
from normcore.kernels.cpu.build import build_if_missing, place_of
from normcore.kernels.cpu.compiler import BuildFailed, Limit
from tests.compilers import command
from tests.normcore.kernels.cpu.building import BUILD, PREPARE, RNN, python
from tests.processes import until
from tests.warm_python import WarmPython


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [(b"#!/bin/sh\n", 0o644, "Permission denied"), (b"\x7fELF", 0o755, "Exec format error")],
)
def test_compiler_that_cannot_be_started_is_reported(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm: WarmPython, content: bytes, mode: int, why: str
) -> None:
    (fake / "g++").write_bytes(content)
    (fake / "g++").chmod(mode)
    monkeypatch.setenv("PATH", str(fake))
    for folder in (None, tmp_path):  # once when asked its version, and once when compiling
        with pytest.raises(BuildFailed, match=rf"^g\+\+ cannot be started: {why}$"):
            build_if_missing(RNN, folder)
    prepared, err, _ = warm.told(tmp_path, ("-c", PREPARE), os.environ)
    assert prepared.startswith(f"g++ cannot be started: {why}\n"), err


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("In file included from a.cpp:1:\nb.hpp:3: error: no number\nb.hpp:4: error: more", "b.hpp:3: error: no"),
        ("/usr/bin/ld: cannot find -lm\ncollect2: error: ld returned 1 exit status", "/usr/bin/ld: cannot find -lm"),
        ("error: in $LC_ALL", "error: in C"),
    ],
)
def test_error_of_the_compiler_is_reported_without_its_include_trace(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, told: str
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    command(fake, "g++", f"cat >&2 <<EOF\n{printed}\nEOF\nexit 1")
    with pytest.raises(BuildFailed) as failed:
        build_if_missing(RNN, tmp_path)
    assert str(failed.value).startswith(f"g++ ended with 1: {told}")


def hang(fake: Path, folder: Path) -> None:
    """Install a fake compiler that hangs with a child process; both ignore SIGTERM."""
    hangs = f"trap : TERM; echo $$ >> {folder}/pids; for _ in $(seq 60); do sleep 1; done"
    command(folder, "cc1plus", hangs)
    command(fake, "g++", f"{folder}/cc1plus & {hangs}")


def hanging(folder: Path) -> list[int]:
    """Process ids of the hanging fake compiler and its child."""
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def ended(pids: list[int]) -> None:
    assert len(pids) >= 2
    until(lambda: not any(map(psutil.pid_exists, pids)), 10, lambda: str(list(map(psutil.pid_exists, pids))))


def test_compiler_that_takes_too_long_is_ended_with_its_children(fake: Path, tmp_path: Path) -> None:
    hang(fake, tmp_path)
    began = time.monotonic()
    with pytest.raises(BuildFailed, match=r"^g\+\+ did not end within 1 s$"):
        build_if_missing(RNN, tmp_path / "objects", Limit(1.0))
    assert time.monotonic() - began < 10
    ended(hanging(tmp_path))
    assert [path.suffix for path in (tmp_path / "objects").iterdir()] == [".lock"]


def test_compiler_that_hangs_when_asked_its_version_is_asked_once(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(fake, "g++", f"echo $$ >> {tmp_path}/pids; sleep 60")
    monkeypatch.setattr(compiler, "VERSION_SECONDS", 1.0)
    for _ in range(2):
        with pytest.raises(BuildFailed, match=r"^g\+\+ did not end within 1 s$"):
            place_of(RNN)
    assert len(hanging(tmp_path)) == 1


def test_interrupted_build_ends_the_compiler(fake: Path, tmp_path: Path) -> None:
    hang(fake, tmp_path)
    building = python(BUILD, str(tmp_path / "objects"))
    until(lambda: (tmp_path / "pids").exists() and len(hanging(tmp_path)) >= 2, 60, str)
    building.send_signal(signal.SIGINT)
    _, err = building.communicate(timeout=20)
    assert err.endswith("KeyboardInterrupt\n")
    ended(hanging(tmp_path))
