"""Report of a worker on its machine when it registers."""

import os
from pathlib import Path

import pytest

from workers.node import identify, memory_of_gpu

TOOL = """#!/bin/sh
case "$*" in
    "--query-gpu=memory.total --format=csv,noheader,nounits -i 0") echo 81559 ;;
    *"-i 1") echo "[N/A]" ;;
    *) echo "No devices were found"; exit 6 ;;
esac
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for NVIDIA's tool, as it answers on a machine with GPUs."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("device", "memory"), [("cuda", 81559 << 20), ("cuda:0", 81559 << 20), ("cuda:1", None), ("cuda:2", None)]
)
def test_on_a_gpu_its_own_memory_counts(device: str, memory: int | None) -> None:
    assert memory_of_gpu(device) == memory
    assert identify(device, "wrk_1", 16 << 30).memory == memory


def test_on_the_cpu_the_machine_s_counts() -> None:
    assert identify("cpu", "wrk_1", 16 << 30).memory == 16 << 30
    assert identify("cpu", "wrk_1", 16 << 30).queues == ("auto", "cpu")


def test_without_a_driver_a_gpu_s_is_not_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert memory_of_gpu("cuda:0") is None
