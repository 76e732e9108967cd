"""Trials of fused kernels on a worker's device, before it claims its first run. A failure of one trial costs no
other.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import torch

from normcore.kernels import gpu_verdicts
from normcore.kernels.gpu_verdicts import Verdict
from normcore.spec.kernels import FUSED_PAIRS
from tests.processes import until
from tests.workers import gpu_trials
from tests.workers.gpu_trials import DEAD, HANGS, RAISES, WRONG

CPU = torch.device("cpu")
RIGHT = Verdict(None, 2.0)
FIRST_TIME = "trying fused kernels on this kind of device, the first time; it takes some minutes"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder in which this process, too, finds the verdicts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def worker(cache: Path, trial: str, seconds: float = 60) -> "subprocess.Popen[str]":
    """A process that tries all pairs by the function ``trial`` of ``gpu_trials``; it prints its log and its result."""
    program = (
        "import logging; logging.basicConfig(level='INFO', format='%(message)s');"
        " from workers import fork_server; fork_server.start();"
        f" from {gpu_trials.__name__} import {trial}; from workers.gpu_check import try_all;"
        f" print(try_all('cpu', {trial}, {seconds}))"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(process: "subprocess.Popen[str]") -> tuple[list[str], str]:
    """Log lines of the process, and its result."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return err.splitlines(), out.strip()


def test_a_trial_that_dies_hangs_or_raises_costs_its_own_pair_and_is_no_verdict(cache: Path) -> None:
    lines, missing = told(worker(cache, "of_all_kinds", seconds=5))
    broken = {DEAD, HANGS, RAISES}
    assert gpu_verdicts.verdicts(CPU) == {
        pair: Verdict("y is off", None) if pair == WRONG else RIGHT for pair in FUSED_PAIRS if pair not in broken
    }
    assert lines == [
        FIRST_TIME,
        "the trial of lstm with layer_norm broke, so it runs by the reference: its process ended with -11",
        "the trial of gru with none broke, so it runs by the reference: it did not end within 5 s",
        "the trial of rnn with none broke, so it runs by the reference: RuntimeError: CUDA out of memory",
        "fused kernels on this device: 11 of 12 are right and faster than the reference;"
        " rnn with rms_norm is wrong: y is off",
    ]
    failed = "lstm with layer_norm, gru with none, rnn with none, rnn with rms_norm"
    assert missing == f"wrong or untried on this device: {failed}"


def test_the_next_worker_repeats_only_trials_that_broke(cache: Path) -> None:
    for pair in FUSED_PAIRS:
        if pair != DEAD:
            with gpu_verdicts.alone(CPU):
                gpu_verdicts.keep(CPU, pair, RIGHT)
    lines, missing = told(worker(cache, "right"))
    assert lines == [FIRST_TIME, "fused kernels on this device: 15 of 15 are right and faster than the reference"]
    assert missing == "None"
    lines, missing = told(worker(cache, "never"))
    assert lines == ["fused kernels on this device: 15 of 15 are right and faster than the reference"]
    assert missing == "None"


def test_trials_end_after_three_in_a_row_that_broke(cache: Path) -> None:
    lines, missing = told(worker(cache, "none_works"))
    broke = "broke, so it runs by the reference: CalledProcessError: Command 'gcc' returned non-zero exit status 1."
    names = [f"{cell} with {method}" for cell, method in FUSED_PAIRS]
    assert lines[1:-1] == [*(f"the trial of {name} {broke}" for name in names[:3]), "no more trials: 3 in a row broke"]
    assert gpu_verdicts.verdicts(CPU) == {}
    assert missing == f"wrong or untried on this device: {', '.join(names)}"


def test_two_workers_try_each_pair_once_and_one_after_the_other(cache: Path) -> None:
    workers = [worker(cache, "counted"), worker(cache, "counted")]
    assert [told(process)[1] for process in workers] == ["None", "None"]
    assert sorted((cache / "calls").read_text().splitlines()) == sorted(map(" ".join, FUSED_PAIRS))


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["told to stop", "killed"])
def test_a_trial_and_the_processes_that_it_started_end_with_their_worker(cache: Path, end: signal.Signals) -> None:
    process = worker(cache, "compiles_for_ever")
    pid_file = cache / "compiler"
    until(lambda: pid_file.exists() and pid_file.read_text() != "", 60, lambda: "no compiler")
    compiler = int(pid_file.read_text())
    process.send_signal(end)
    process.communicate(timeout=30)
    until(lambda: not psutil.pid_exists(compiler), 10, lambda: "the compiler lives on")
    assert gpu_verdicts.verdicts(CPU) == {}


def test_no_fused_kernel_runs_untried_if_verdicts_cannot_be_stored(cache: Path) -> None:
    """The folder's name is too long to be used. A folder without permissions would not do: root could read it."""
    lines, missing = told(worker(cache / ("x" * 300), "right"))
    assert "File name too long" in lines[1]
    assert missing.startswith("wrong or untried on this device: lstm with none")
