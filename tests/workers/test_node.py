"""Report of a worker on its machine when it registers."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from normcore.environment import memory_of
from service.db import Database
from service.fleet import registration
from workers.node import choose_device, identify, memory_for_training
from workers.settings import WorkerSettings

TOOL = """#!/bin/sh
echo "GPU 0: NVIDIA H100 (UUID: GPU-1)"
"""
GIB = 1 << 30


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for NVIDIA's tool, as it answers on a machine with GPUs."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("visible", "device"), [(None, "cuda:0"), ("1", "cuda:0"), ("GPU-1", "cuda:0"), ("", "cpu"), ("-1", "cpu")]
)
def test_gpus_that_are_hidden_from_cuda_are_not_chosen(
    visible: str | None, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert choose_device() == device


def test_the_device_without_a_driver_is_the_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert choose_device() == "cpu"


def test_a_worker_takes_runs_for_its_kind_of_device() -> None:
    assert identify("cpu", "wrk_1").queues == ("auto", "cpu")
    assert identify("cuda:1", "wrk_1").queues == ("auto", "cuda")


def test_the_memory_of_a_gpu_is_found_by_cudas_number_and_not_the_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver numbers GPUs by their place on the bus, CUDA the visible ones by speed."""
    by_number = {0: 80 * GIB, 1: 24 * GIB}
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda device: SimpleNamespace(total_memory=by_number[device.index or 0])
    )
    assert memory_of(torch.device("cuda")) == memory_of(torch.device("cuda:0")) == 80 * GIB
    assert memory_of(torch.device("cuda:1")) == 24 * GIB
    assert memory_of(torch.device("cpu")) is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_workers_of_one_machine_share_its_memory(db: Database) -> None:
    def given(settings: WorkerSettings) -> int:
        with db.transaction() as session:
            return memory_for_training(session, settings, mine)

    def join(host: str, pid: int) -> None:
        identity = registration.WorkerIdentity(f"wrk_{host}_{pid}", host, pid, "cpu", ("auto", "cpu"))
        with db.transaction() as session:
            registration.heartbeat(session, identity)

    mine = identify("cpu", "wrk_mine")
    alone = given(WorkerSettings())
    join(mine.host, os.getpid())
    join("another", os.getppid())
    join(mine.host, 2**22 + 1)  # beyond the largest process id, so this process has ended
    assert given(WorkerSettings()) == alone
    join(mine.host, os.getppid())
    join(mine.host, 1)
    assert given(WorkerSettings()) == alone // 3
    assert given(WorkerSettings(memory_limit=4 * GIB)) == 4 * GIB
