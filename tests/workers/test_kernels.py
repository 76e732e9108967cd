"""A worker has its kernels compiled before it claims a run; without them it trains by the reference, and says why."""

import errno
import logging
import os
import re
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from normcore.kernels.cpu.build import CELLS
from tests.compilers import command
from tests.fork_servers import own_fork_server
from tests.processes import Service, service, until
from workers import fork_server, kernels
from workers.kernels import find_missing_requirement, prepare

COMPILING = "INFO workers.kernels: compiling kernels for this processor, once on this machine; it takes some seconds"
MISSING = "WARNING workers.kernels: no fused kernels here, so recurrent networks run by the reference, more slowly:"
BRIEF = {"max_steps": 2, "eval_every": 2}
ASKED_ELSE = 'case "$1" in -dump*) echo 12;; *)'  # a compiler answers questions about its version


def compiler(folder: Path, text: str, name: str = "g++") -> str:
    """A PATH whose g++ runs this shell text."""
    return f"{command(folder, name, text)}:{os.environ['PATH']}"


@contextmanager
def bare(folder: Path, path: str | None = None, **variables: object) -> Iterator[Service]:
    """A service on a machine that has compiled nothing yet."""
    with service(folder, **variables) as running:
        running.environment["XDG_CACHE_HOME"] = str(folder / "cache")
        if path is not None:
            running.environment["PATH"] = path
        yield running


def told(running: Service) -> list[str]:
    """Log lines of the worker's processes about kernels, without the time."""
    return [line.partition(" ")[2].partition(" ")[2] for line in running.logs().splitlines() if " kernels" in line]


def fused(running: Service) -> Any:
    """Field ``fused`` of the one worker; None while there is no worker."""
    workers = running.get("/v1/workers")["items"]
    return [worker["fused"] for worker in workers]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Lines that this process logged, without the time."""
    return [f"{record.levelname} {record.name}: {record.getMessage()}" for record in caplog.records]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The only folder of commands, and the folder of caches, of processes that this process forks."""
    folder = tmp_path_factory.mktemp("kernels") / "machine"
    with own_fork_server(PATH=str(folder), XDG_CACHE_HOME=str(folder)):
        yield folder


@pytest.fixture
def uncompiled(machine: Path) -> Path:
    """The folder ``machine``, empty: no compiler is installed, and nothing is compiled."""
    shutil.rmtree(machine, ignore_errors=True)
    machine.mkdir()
    return machine


def objects(folder: Path) -> list[str]:
    """Compiled kernels in a folder of caches."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix == ".so")


def test_a_worker_that_compiles_is_registered_and_claims_nothing(tmp_path: Path, quickly: str) -> None:
    go = tmp_path / "go"
    waits = f"while [ ! -e {go} ]; do sleep 0.1; done; {quickly}"
    with bare(tmp_path, compiler(tmp_path / "bin", f"{ASKED_ELSE} {waits};; esac"), heartbeat_seconds=60) as running:
        running.work()
        until(lambda: "compiling" in running.logs() and fused(running), 60, running.logs)
        assert fused(running) == [None]
        experiment = running.submit(training=BRIEF | {"kernel": "fused"})
        assert running.run_of(experiment)["state"] == "queued"
        released = datetime.now(UTC)
        go.touch()
        running.wait_succeeded(experiment)
        run = running.run_of(experiment)
        assert datetime.fromisoformat(run["started_at"]) >= released
        assert run["kernel"] == "fused"
        assert fused(running) == [True], "told at once, not with the next heartbeat"
        assert told(running) == [COMPILING]


def test_a_worker_whose_compiler_fails_asks_it_once_and_uses_the_reference(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    path = compiler(tmp_path / "bin", f'{ASKED_ELSE} echo failed >> {calls}; echo "no such flag" >&2; exit 3;; esac')
    with bare(tmp_path, path) as running:
        running.work()
        until(lambda: fused(running) == [False], 30, running.logs)
        asked = calls.read_text()
        experiment = running.submit(seeds=(0, 1), training=BRIEF)
        running.wait_succeeded(experiment)
        run = running.run_of(experiment)
        assert (run["kernel"], run["attempt"], run["history"]) == ("reference", 1, [])
        assert calls.read_text() == asked
        assert told(running)[1:] == [f"{MISSING} g++ ended with 3: no such flag"]
        assert not re.search(r"Traceback|ERROR", running.logs())
        refused = running.http.post("/v1/experiments", json={**experiment["spec"], "training": {"kernel": "fused"}})
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["loc"] == ["training", "kernel"]


def test_a_compiler_that_hangs_keeps_no_worker_from_stopping_and_nothing_goes_on(tmp_path: Path) -> None:
    """The compiler of one cell ends when it is told to, the others only when they are killed."""
    stubborn = f"mkdir {tmp_path}/first 2>/dev/null || trap : TERM"
    hangs = f"{stubborn}; echo $$ >> {tmp_path}/pids; while :; do sleep 1; done"
    with bare(tmp_path, compiler(tmp_path / "bin", f"{ASKED_ELSE} {hangs};; esac")) as running:
        worker = running.start("worker", "--device", "cpu")
        compilers = hanging(tmp_path, running.logs)
        began = time.monotonic()
        worker.terminate()
        assert worker.wait(20) == 0, running.logs()
        assert time.monotonic() - began < 5
        until(lambda: not any(map(psutil.pid_exists, compilers)), 5, running.logs)
        assert objects(tmp_path / "cache") == []
        assert "Traceback" not in running.logs()


def test_compilers_end_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    hangs = f"echo $$ >> {tmp_path}/pids; while :; do sleep 1; done"
    with bare(tmp_path, compiler(tmp_path / "bin", f"{ASKED_ELSE} {hangs};; esac")) as running:
        worker = running.start("worker", "--device", "cpu")
        compilers = hanging(tmp_path, running.logs)
        worker.kill()
        until(lambda: not any(map(psutil.pid_exists, compilers)), 10, running.logs)


def hanging(folder: Path, explain: Callable[[], str]) -> list[int]:
    """The processes of the compilers once some have begun."""
    pids = folder / "pids"
    at_once = min(len(CELLS), os.cpu_count() or 1)
    until(lambda: pids.exists() and len(pids.read_text().split()) >= at_once, 60, explain)
    return [int(pid) for pid in pids.read_text().split()]


def test_a_worker_on_a_gpu_needs_triton_and_no_kernels_of_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernels, "_compile_in_process", lambda: pytest.fail("it compiles"))
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert prepare("cuda:1") == "there is no triton; install normbench[gpu]"
    left = "experiments that ask for fused kernels are left to other workers: "
    assert caplog.messages == [f"{left}there is no triton; install normbench[gpu]"]
    caplog.clear()
    installed = tmp_path / "triton.dist-info" / "METADATA"
    installed.parent.mkdir()
    installed.write_text("Name: triton\nVersion: 3.7.1\n")
    monkeypatch.setenv("PATH", compiler(tmp_path / "bin", "", "gcc"))
    monkeypatch.delenv("CC", raising=False)
    assert prepare("cuda:1") == "they cannot be tried"
    assert caplog.messages == [
        "fused kernels cannot be tried here: ChildProcessError: ended with 1",
        f"{left}they cannot be tried",
    ], "there is no device"
    caplog.clear()
    installed.write_text("Name: triton\nVersion: 3.9.0\n")
    told = "triton 3.9.0 is installed, which does not compile all; install normbench[gpu]"
    assert prepare("cuda:1") == told
    assert caplog.messages == [left + told]


@pytest.mark.parametrize(
    ("there", "named", "told"),
    [
        (["gcc"], None, None),
        (["clang"], None, None),
        (["cc", "g++"], None, "there is no C compiler, which triton needs; install one (Debian: apt install gcc)"),
        (["mine"], "mine", None),
        (["gcc"], "mine", "CC is 'mine', which is no command; install one (Debian: apt install gcc)"),
        (["gcc"], "", "CC is '', which is no command; install one (Debian: apt install gcc)"),
    ],
)
def test_a_worker_on_a_gpu_needs_the_c_compiler_that_triton_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], named: str | None, told: str | None
) -> None:
    monkeypatch.setattr(kernels, "version", lambda _: "3.8.0")
    for name in there:
        compiler(tmp_path, "", name)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    if named is not None:
        monkeypatch.setenv("CC", named)
    assert find_missing_requirement() == told


def test_a_compiling_process_that_cannot_start_is_logged_and_ends_no_worker(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(fork_server.context, "Pipe", fails)
    why = "BlockingIOError: [Errno 11] Resource temporarily unavailable"
    assert prepare("cpu") == f"no process to compile them can be started: {why}"
    assert "no fused kernels here" in caplog.text


def test_a_compiling_process_that_is_killed_is_logged_and_ends_no_worker(
    uncompiled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    compiler(uncompiled, f"{ASKED_ELSE} echo $$ >> {uncompiled}/pids; exec {shutil.which('sleep')} 60;; esac")
    with ThreadPoolExecutor() as pool:
        prepared = pool.submit(prepare, "cpu")
        compilers = [psutil.Process(pid) for pid in hanging(uncompiled, lambda: caplog.text)]
        builder = compilers[0].parent()
        assert builder is not None
        builder.kill()
        try:
            missing = prepared.result(30)
        finally:
            for process in compilers:
                process.kill()
    assert missing == "the process that compiles them ended with -9"
    assert lines(caplog) == [COMPILING, f"{MISSING} {missing}"]


def test_kernels_are_compiled_once_and_found_by_the_next_worker(
    uncompiled: Path, quickly: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    calls = uncompiled / "calls"
    compiler(uncompiled, f'echo "$@" >> {calls}; PATH={os.environ["PATH"]}; {quickly}')
    assert prepare("cpu") is None
    assert lines(caplog) == [COMPILING]
    assert calls.read_text().count("kernel.cpp") == 3
    assert [name.partition("-")[0] for name in objects(uncompiled)] == ["gru", "lstm", "rnn"]
    assert prepare("cpu") is None
    assert lines(caplog) == [COMPILING], "it was silent the second time"
    assert calls.read_text().count("kernel.cpp") == 3


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("no compiler", "there is no g++; install it (Debian: apt install g++)"),
        ("compiler", "g++ cannot be started: Permission denied"),
        ("cache", "cannot be written: [Errno 20]"),
    ],
)
def test_an_unusable_compiler_or_cache_is_logged_in_one_plain_line(
    uncompiled: Path, caplog: pytest.LogCaptureFixture, what: str, why: str
) -> None:
    """A file stands in the place of the cache. A folder without permissions would not do: root could write it."""
    if what != "no compiler":
        compiler(uncompiled, "")
    if what == "compiler":
        (uncompiled / "g++").chmod(0o644)
    if what == "cache":
        (uncompiled / "normbench").touch()
    missing = str(prepare("cpu"))
    assert why in missing
    assert lines(caplog) == [f"{MISSING} {missing}"]
    assert "\n" not in missing


def test_a_worker_on_a_gpu_needs_pythons_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "version", lambda _: "3.8.0")
    monkeypatch.setenv("PATH", compiler(tmp_path / "bin", "", "gcc"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    told = f"there is no {tmp_path}/Python.h; install it (Debian: apt install python3-dev)"
    assert find_missing_requirement() == told
    (tmp_path / "Python.h").touch()
    assert find_missing_requirement() is None
