"""Every second of a run is counted once, for the part of the run that took it."""

import pytest
import torch

from normcore.training.run_clock import PARTS, RunClock


class Time:
    """Clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    moved = Time()
    monkeypatch.setattr("normcore.clock.time", moved)
    return moved


def spent(**parts: float) -> dict[str, float]:
    return {**dict.fromkeys(PARTS, 0.0), **parts}


def test_each_part_has_its_seconds_and_time_in_between_is_not_counted(time: Time) -> None:
    clock = RunClock(torch.device("cpu"))
    time.now += 1
    clock.start("data")
    time.now += 2
    clock.start("training")
    time.now += 4
    assert clock.seconds == 4
    assert clock.stop() == 4
    time.now += 8
    clock.start("evaluation")
    time.now += 16
    assert clock.stop_when_done() == 4
    assert clock.stop() == 4, "it stands still already"
    assert clock.spent == spent(data=2, training=4, evaluation=16)


@pytest.mark.parametrize(("device", "data"), [("cpu", 2.0), ("cuda", 0.0)])
def test_drawing_data_is_not_training_time_unless_a_gpu_trains_meanwhile(time: Time, device: str, data: float) -> None:
    clock = RunClock(torch.device(device))
    clock.start("training")
    time.now += 1
    with clock.count_to("data"):
        time.now += 2
    time.now += 4
    clock.stop()
    assert clock.spent == spent(training=7 - data, data=data)


def test_seconds_of_earlier_processes_are_added(time: Time) -> None:
    clock = RunClock(torch.device("cpu"))
    clock.start("compile")
    time.now += 1
    clock.stop()
    clock.add({**dict.fromkeys(PARTS, 0.0), "compile": 2.0, "training": 8.0})
    clock.start("training")
    time.now += 4
    assert clock.stop() == 12
    assert clock.spent == spent(compile=3, training=12)
