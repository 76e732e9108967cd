"""Triton compiles every kernel to machine code for devices that this machine does not have."""

import itertools
import json
import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from normcore.kernels.cell_layout import NormKind

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
from normcore.kernels.gpu.plan import shared_memory
from tests.normcore.kernels.gpu.machine_code import OF_A_BLOCK

FORWARD, BACKWARD = [{f"{pass_}_{design}" for design in ("step", "sequence")} for pass_ in ("forward", "backward")]
GATES = {1, 3, 4}
KINDS = {kind.value for kind in NormKind}
ALL, FULLEST = 90, 80  # capabilities


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, Any]]]:
    """Kernels as ``machine_code.py`` reports them, for each capability: all kernels, and the fullest kernels."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.normcore.kernels.gpu.machine_code", str(ALL), str(FULLEST)],
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("triton"))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {of: [kernel for kernel in told if kernel["target"].startswith(f"sm_{of}")] for of in (ALL, FULLEST)}


def fit(kernels: list[dict[str, Any]], capability: int) -> None:
    """Check that each kernel fits the device."""
    for kernel in kernels:
        assert kernel["machine_code"] > 0
        assert kernel["shared"] <= OF_A_BLOCK[capability]
        if kernel["kernel"].endswith("sequence"):
            factors = torch.bfloat16 if kernel["in_bfloat16"] else torch.float32
            assert kernel["shared"] <= shared_memory(kernel["G"], kernel["R"], kernel["C"], factors)
            assert kernel["stack"] <= (700 if kernel["R"] == 64 else 100), kernel


@pytest.mark.timeout(1200)  # two minutes on a core that other processes may use
def test_every_kernel_compiles_to_machine_code(kernels: dict[int, list[dict[str, Any]]]) -> None:
    of_all = kernels[ALL]
    fit(of_all, ALL)
    assert in_bfloat16(of_all) == {(4, 128), (3, 128), (1, 64)}
    assert {(kernel["G"], kernel["H"]) for kernel in of_all if is_large(kernel)} == {(1, 65), (1, 128)}
    for pass_, kinds in ((FORWARD, KINDS), (BACKWARD, KINDS - {NormKind.POPULATION.value})):
        of_pass = [kernel for kernel in of_all if kernel["kernel"] in pass_]
        for one, other, expected in (
            ("kernel", "G", itertools.product(pass_, GATES)),
            ("kernel", "KIND_SUMS", itertools.product(pass_, kinds)),
            ("G", "KIND_SUMS", itertools.product(GATES, kinds)),
        ):
            assert {(kernel[one], kernel[other]) for kernel in of_pass} == set(expected)


def test_fullest_kernels_fit_a_device_with_less_shared_memory(kernels: dict[int, list[dict[str, Any]]]) -> None:
    fit(kernels[FULLEST], FULLEST)
    assert in_bfloat16(kernels[FULLEST]) == {(4, 128), (1, 256), (4, 64)}
    assert {kernel["target"] for kernel in kernels[FULLEST]} == {"sm_80"}


def in_bfloat16(kernels: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Gates and units of the kernels in bfloat16, each of which is there forward and backward."""
    forward, backward = (
        {(kernel["G"], kernel["H"]) for kernel in kernels if kernel["in_bfloat16"] and kernel["kernel"] == name}
        for name in ("forward_sequence", "backward_sequence")
    )
    assert forward == backward
    return forward


def is_large(kernel: dict[str, Any]) -> bool:
    """Tell if the kernel holds W_h of more than 64 units in float32, which takes many registers."""
    return kernel["kernel"].endswith("sequence") and kernel["C"] > 64 and not kernel["in_bfloat16"]
