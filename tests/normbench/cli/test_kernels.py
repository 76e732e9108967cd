"""The fused kernels of a machine are prepared by a command, which says what is missing."""

import json
from pathlib import Path

import pytest
import torch

from tests.normbench.cli.commands import SECONDS, command_process


def kernels(environment: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    process = command_process(environment, "kernels", *arguments)
    printed, complaint = process.communicate(timeout=SECONDS)
    return process.returncode, printed, complaint


def test_kernels_of_the_cpu_are_compiled(environment: dict[str, str]) -> None:
    status, printed, _ = kernels(environment, "--device", "cpu", "--json")
    assert (status, json.loads(printed)) == (0, {"device": "cpu", "missing": None})


def test_missing_compiler_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    """The process finds no compiler, and no kernels that were compiled before."""
    elsewhere = {**environment, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    status, printed, complaint = kernels(elsewhere, "--device", "cpu")
    assert (status, printed) == (1, "")
    assert "normbench kernels: not all can be used on cpu: there is no g++; install it" in complaint


@pytest.mark.skipif(torch.cuda.is_available(), reason="the machine has a CUDA device")
def test_missing_device_is_a_misuse(environment: dict[str, str]) -> None:
    assert kernels(environment, "--device", "cuda:0") == (
        2,
        "",
        "normbench kernels: there is no device cuda:0 here; use cpu\n",
    )
