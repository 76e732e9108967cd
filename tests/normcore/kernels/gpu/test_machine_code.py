"""Triton compiles every kernel to machine code for devices that this machine does not have."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from normcore.kernels.cell_layout import NormKind

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
from normcore.kernels.gpu.plan import shared_memory
from tests.normcore.kernels.gpu.machine_code import OF_A_BLOCK

EXPECTED = {
    (f"{pass_}_{design}", gates, kind.value)
    for pass_, design, gates, kind in itertools.product(
        ("forward", "backward"), ("step", "sequence"), (1, 3, 4), NormKind
    )
    if (pass_, kind) != ("backward", NormKind.POPULATION)
}


def compiled(capability: int, folder: Path, *options: str) -> list[dict[str, Any]]:
    """Kernels as ``machine_code.py`` reports them, after a check that each fits the device."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.normcore.kernels.gpu.machine_code", str(capability), *options],
        env={**environment, "TRITON_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    kernels = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(kernel["kernel"], kernel["G"], kernel["H"]) for kernel in kernels if kernel["in_bfloat16"]} == {
        (f"{pass_}_sequence", gates, hidden)
        for pass_, (gates, hidden) in itertools.product(
            ("forward", "backward"), ((4, 128), (3, 128), (1, 256), (4, 64), (3, 64), (1, 64))
        )
    }
    assert {(kernel["G"], kernel["H"]) for kernel in kernels if is_large(kernel)} == {(1, 65), (1, 128)}
    for kernel in kernels:
        assert kernel["target"].startswith(f"sm_{capability}")
        assert kernel["machine_code"] > 0
        assert kernel["shared"] <= OF_A_BLOCK[capability]
        if kernel["kernel"].endswith("sequence"):
            factors = torch.bfloat16 if kernel["in_bfloat16"] else torch.float32
            assert kernel["shared"] <= shared_memory(kernel["G"], kernel["R"], kernel["C"], factors)
            assert kernel["stack"] <= (700 if kernel["R"] == 64 else 100), kernel
    return kernels


@pytest.mark.timeout(1200)  # two minutes on a core that other processes may use
def test_every_kernel_compiles_to_machine_code(tmp_path: Path) -> None:
    kernels = compiled(90, tmp_path)
    assert {(kernel["kernel"], kernel["G"], kernel["KIND_SUMS"]) for kernel in kernels} == EXPECTED


def test_largest_kernels_fit_a_device_with_less_shared_memory(tmp_path: Path) -> None:
    assert {kernel["target"] for kernel in compiled(80, tmp_path, "--largest")} == {"sm_80"}


def is_large(kernel: dict[str, Any]) -> bool:
    """Tell if the kernel holds W_h of more than 64 units in float32, which takes many registers."""
    return kernel["kernel"].endswith("sequence") and kernel["C"] > 64 and not kernel["in_bfloat16"]
