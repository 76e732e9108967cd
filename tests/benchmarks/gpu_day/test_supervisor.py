"""A part that breaks, ends or is killed keeps what it measured, and goes on with what is missing."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu_day import supervisor
from benchmarks.gpu_day.results import OtherMachine, Results
from benchmarks.processes import ROOT, wait_until
from tests.benchmarks.gpu_day import part_that_breaks

MODULE = part_that_breaks.__name__


@pytest.fixture(autouse=True)
def made_up_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "MODULE", MODULE)
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.5)


def content(folder: Path, part: str) -> dict[str, Any]:
    return Results.read(folder, part).content


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().split("\n")[:-1]


def test_crash_hang_error_and_device_fault_lose_only_themselves(tmp_path: Path) -> None:
    assert supervisor.run_part("broken", tmp_path, 30.0) == 0
    found = content(tmp_path, "broken")
    assert list(found["measured"]) == ["first", "last"]
    assert {name: broken["why"] for name, broken in found["broken"].items()} == {
        "crash": "its process ended with status 11",
        "hang": "it did not end within 0.5 s",
        "error": "ValueError: seven is wrong",
        "device fault": "RuntimeError: CUDA error: an illegal memory access was encountered",
    }
    assert sorted(calls(tmp_path)) == sorted(["first", "crash", "hang", "error", "device fault", "last"])
    assert (found["begun"], found["left_out"]) == (None, [])


def test_next_command_tries_broken_measurements_again_after_all_others(tmp_path: Path) -> None:
    results = Results.read(tmp_path, "broken")
    results.measured_on(part_that_breaks.MACHINE)
    results.content["broken"] = {name: {"why": "", "again": False} for name in ("first", "crash", "hang")}
    results.write()
    supervisor.run_part("broken", tmp_path, 30.0)
    assert calls(tmp_path) == ["error", "device fault", "last", "first", "crash", "hang"]
    assert list(content(tmp_path, "broken")["measured"]) == ["last", "first"]


def test_kill_loses_only_the_measurement_that_is_being_made(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", MODULE, "slow", str(tmp_path), "30"]
    environment = {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment) as process:
        wait_until(lambda: content(tmp_path, "slow")["begun"] == "second", 20.0)
        process.send_signal(signal.SIGKILL)
    assert list(content(tmp_path, "slow")["measured"]) == ["preparation", "first"]
    supervisor.run_part("slow", tmp_path, 30.0)
    assert list(content(tmp_path, "slow")["measured"]) == ["preparation", "first", "second", "third"]
    assert calls(tmp_path) == ["preparation", "first", "second", "preparation", "second", "third"]


def test_complete_part_prepares_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        supervisor.run_part("slow", tmp_path, 30.0)
    assert calls(tmp_path) == ["preparation", "first", "second", "third"]


def test_part_stops_between_measurements_and_names_what_is_left_out(tmp_path: Path) -> None:
    results = Results.read(tmp_path, "slow")
    results.measured_on(part_that_breaks.MACHINE)
    results.take(part_that_breaks.slow(tmp_path), seconds=0.3)
    assert list(results.content["measured"]) == ["preparation", "first", "second"]
    assert content(tmp_path, "slow")["left_out"] == ["third"]


def test_measurement_beyond_the_time_of_its_part_is_ended_and_left_out(tmp_path: Path) -> None:
    began = time.monotonic()
    assert supervisor.run_part("endless", tmp_path, 1.5) == 0
    assert time.monotonic() - began < 10.0
    found = content(tmp_path, "endless")
    assert (list(found["measured"]), found["broken"], found["left_out"]) == (["first"], {}, ["endless", "third"])


def test_process_that_ends_before_a_measurement_is_not_started_for_ever(tmp_path: Path) -> None:
    assert supervisor.run_part("unknown", tmp_path, 30.0) == 1


@pytest.mark.parametrize("difference", [{"gpu": "another"}, {"interpreted": True}, {"git": "abc"}])
def test_results_of_two_machines_are_not_mixed(difference: dict[str, Any], tmp_path: Path) -> None:
    results = Results.read(tmp_path, "slow")
    results.measured_on(part_that_breaks.MACHINE)
    results.take([part_that_breaks.case(tmp_path, "first")], seconds=1.0)
    with pytest.raises(OtherMachine, match=r"slow.json has results of another machine \(.*name another folder"):
        Results.read(tmp_path, "slow").measured_on({**part_that_breaks.MACHINE, **difference})
    Results.read(tmp_path, "slow").measured_on({**part_that_breaks.MACHINE, "driver": "another"})
