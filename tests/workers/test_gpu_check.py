"""Checks of fused kernels on a worker's device, before it claims its first run. A failure of one check costs no
other.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import torch

from normcore.kernels.gpu import verdicts
from normcore.kernels.gpu.verdicts import KernelVerdict
from normcore.spec.kernels import FUSED_PAIRS
from tests.fork_servers import own_fork_server
from tests.processes import until
from tests.workers import gpu_checks
from tests.workers.gpu_checks import DEAD, HANGS, RAISES, WRONG
from workers.gpu_check import try_all

CPU = torch.device("cpu")
RIGHT = KernelVerdict(None, 2.0)
FIRST_TIME = "trying fused kernels on this kind of device, the first time; it takes some minutes"


@pytest.fixture(scope="module")
def cache_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder in which all processes that this process forks find the verdicts."""
    folder = tmp_path_factory.mktemp("gpu_check") / "cache"
    with own_fork_server(XDG_CACHE_HOME=str(folder)):
        yield folder


@pytest.fixture(autouse=True)
def cache(cache_of_all: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, empty. This process, too, finds the verdicts there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_of_all))
    shutil.rmtree(cache_of_all, ignore_errors=True)
    cache_of_all.mkdir()
    return cache_of_all


def test_a_check_that_dies_hangs_or_raises_costs_its_own_pair_and_is_no_verdict(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    missing = try_all("cpu", gpu_checks.of_all_kinds, 5)
    broken = {DEAD, HANGS, RAISES}
    assert verdicts.read(CPU) == {
        pair: KernelVerdict("y is off", None) if pair == WRONG else RIGHT for pair in FUSED_PAIRS if pair not in broken
    }
    assert caplog.messages == [
        FIRST_TIME,
        "the check of lstm with layer_norm broke, so it runs by the reference: its process ended with -11",
        "the check of gru with none broke, so it runs by the reference: it did not end within 5 s",
        "the check of rnn with none broke, so it runs by the reference: RuntimeError: CUDA out of memory",
        "fused kernels on this device: 11 of 12 are right and faster than the reference;"
        " rnn with rms_norm is wrong: y is off",
    ]
    failed = "lstm with layer_norm, gru with none, rnn with none, rnn with rms_norm"
    assert missing == f"wrong or untried on this device: {failed}"


def test_the_next_worker_repeats_only_checks_that_broke(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for pair in FUSED_PAIRS:
        if pair != DEAD:
            with verdicts.exclusive(CPU):
                verdicts.store(CPU, pair, RIGHT)
    assert try_all("cpu", gpu_checks.right, 60) is None
    summary = "fused kernels on this device: 15 of 15 are right and faster than the reference"
    assert caplog.messages == [FIRST_TIME, summary]
    caplog.clear()
    assert try_all("cpu", gpu_checks.never, 60) is None
    assert caplog.messages == [summary]


def test_checks_end_after_three_in_a_row_that_broke(caplog: pytest.LogCaptureFixture) -> None:
    missing = try_all("cpu", gpu_checks.none_works, 60)
    broke = "broke, so it runs by the reference: CalledProcessError: Command 'gcc' returned non-zero exit status 1."
    names = [f"{cell} with {method}" for cell, method in FUSED_PAIRS]
    assert caplog.messages == [
        *(f"the check of {name} {broke}" for name in names[:3]),
        "no more checks: 3 in a row broke",
    ]
    assert verdicts.read(CPU) == {}
    assert missing == f"wrong or untried on this device: {', '.join(names)}"


def test_two_workers_try_each_pair_once_and_one_after_the_other(cache: Path) -> None:
    """Each check has a process of its own, so threads will do for the workers."""
    with ThreadPoolExecutor() as pool:
        workers = [pool.submit(try_all, "cpu", gpu_checks.counted, 60) for _ in range(2)]
        assert [worker.result() for worker in workers] == [None, None]
    assert sorted((cache / "calls").read_text().splitlines()) == sorted(map(" ".join, FUSED_PAIRS))


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["told to stop", "killed"])
def test_a_check_and_the_processes_that_it_started_end_with_their_worker(cache: Path, end: signal.Signals) -> None:
    program = (
        "from workers import fork_server; fork_server.start();"
        " from tests.workers.gpu_checks import compiles_for_ever; from workers.gpu_check import try_all;"
        " try_all('cpu', compiles_for_ever, 60)"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, env={**os.environ, "XDG_CACHE_HOME": str(cache)}, stderr=subprocess.DEVNULL)
    pid_file = cache / "compiler"
    until(lambda: pid_file.exists() and pid_file.read_text() != "", 60, lambda: "no compiler")
    compiler = int(pid_file.read_text())
    process.send_signal(end)
    process.wait(30)
    until(lambda: not psutil.pid_exists(compiler), 10, lambda: "the compiler lives on")
    assert verdicts.read(CPU) == {}


def test_no_fused_kernel_runs_untried_if_verdicts_cannot_be_stored(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file stands in the place of the folder. A folder without permissions would not do: root could read it."""
    caplog.set_level("INFO")
    (cache / "normbench").touch()
    missing = try_all("cpu", gpu_checks.right, 60)
    assert "Not a directory" in caplog.messages[1]
    assert str(missing).startswith("wrong or untried on this device: lstm with none")
