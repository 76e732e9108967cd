"""Compile every kernel that a cell launches, forward and backward, for devices that this machine does not have.

``python -m tests.normcore.kernels.gpu.machine_code CAPABILITY FULLEST``, without TRITON_INTERPRET, prints a line of
JSON for each kernel: all kernels for a device of the first capability, and the kernels that need the most shared memory
for a device of the second. A line has the name of the kernel, its target, and the bytes of its shared memory and of its
machine code. The stack of a thread, in bytes, is told of kernels that compute a sequence.
"""

import importlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import JITFunction, driver

from tests.normcore.kernels.cell_pass import cell_of, drawn, everything, know_a_population

OF_A_BLOCK = {80: 163 * 1024, 90: 227 * 1024}  # bytes of shared memory: A100; H100 and H200
STEPWISE: list[tuple[int, int, tuple[str, str, dict[str, Any]]]] = [
    *[(32, 200, ("gru", method, {})) for method in ("none", "rms_norm")],
    *[(32, 200, (cell, "layer_norm", {})) for cell in ("lstm", "rnn")],
    (32, 200, ("rnn", "recurrent_batch_norm", {"sites": ["recurrent"]})),
    *[
        (16, 80, ("lstm", "recurrent_batch_norm", options))
        for options in ({"carry": "normalized"}, {"sites": ["input", "cell"]})
    ],
    (4, 65, ("rnn", "recurrent_batch_norm", {})),  # compiled twice: steps are not aligned alike
]
"""Cases of the stepwise kernels. Together with the kernels of a sequence below, each kind of kernel has every cell and
every method, and each cell has every method. A method's statements for a cell are the same in both kinds."""
FULLEST: list[tuple[int, int, tuple[str, str, dict[str, Any]]]] = [(64, 64, ("lstm", "recurrent_batch_norm", {}))]
"""Case that needs the most shared memory of all in float32."""
FULLEST_IN_BFLOAT16: list[tuple[int, int, tuple[str, str, dict[str, Any]]]] = [
    (20, 128, ("lstm", "layer_norm", {})),
    (20, 256, ("rnn", "layer_norm", {})),
    (32, 64, ("lstm", "recurrent_batch_norm", {"sites": ["recurrent"]})),
]
"""Cases that need the most shared memory of all in bfloat16; batch norm needs the most registers."""
IN_BFLOAT16: list[tuple[int, int, tuple[str, str, dict[str, Any]]]] = [
    (20, 128, ("lstm", "none", {})),
    (20, 128, ("gru", "layer_norm", {})),
    (64, 64, ("rnn", "recurrent_batch_norm", {})),
    (20, 64, ("rnn", "rms_norm", {})),
]
SMALL: list[tuple[int, int, tuple[str, str, dict[str, Any]]]] = [
    (13, 16, ("gru", "recurrent_batch_norm", {})),
    *[
        (20, 16, ("rnn", "layer_norm", options))
        for options in ({"sites": ["recurrent"]}, {"bias": "inside"}, {"affine": False})
    ],
    (20, 16, ("gru", "layer_norm", {"scope": "per_gate"})),
    (20, 16, ("lstm", "layer_norm", {"sites": ["cell"], "affine": False})),
]  # options are constants of a kernel, and are compiled alike in every cell: here in the cell with the fewest gates
LARGE: list[tuple[int, int, tuple[str, str, dict[str, Any]]]] = [
    (64, 64, ("lstm", "rms_norm", {})),
    *[(20, 128, ("rnn", method, {})) for method in ("none", "layer_norm")],
    (20, 65, ("rnn", "rms_norm", {})),  # rows are not aligned to 16 bytes
]


class Away:
    """Fake of the part of Triton's driver that compiling needs."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_device(self) -> int:
        return self.capability

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    @property
    def utils(self) -> "Away":
        return self

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": OF_A_BLOCK[device]}


def main(capability: int, of_fullest: int) -> None:
    seen = set()
    launch = JITFunction.run

    def compiled(self: JITFunction[Any], *args: Any, grid: Any, warmup: bool, **meant: Any) -> Any:
        kernel = launch(self, *args, grid=grid, warmup=True, **meant)
        if kernel.hash not in seen:
            seen.add(kernel.hash)
            [target] = re.findall(r"^\.target (\w+)", kernel.asm["ptx"], re.MULTILINE)
            told = {"kernel": self.__name__, **meant, "target": target, "shared": kernel.metadata.shared}
            told["in_bfloat16"] = "*bf16" in kernel.src.signature.values()
            code = kernel.asm["cubin"]
            told["stack"] = on_the_stack(code) if self.__name__.endswith("sequence") else None
            print(json.dumps({**told, "machine_code": len(code)}))
        return kernel

    JITFunction.run = compiled
    door: Any = importlib.import_module("normcore.kernels.gpu.unroll")
    door._runs_on = lambda device: True
    driver.set_active(Away(capability))
    cases = [*STEPWISE, *SMALL, *LARGE]
    for k, (batch, hidden, case) in enumerate(cases):
        launch_all(door.unroll, batch, hidden, case, masked=k % 2 == 1)
    known = len(seen)
    for k in (0, len(STEPWISE)):
        batch, hidden, case = cases[k]
        launch_all(door.unroll, batch, hidden, case, masked=k % 2 == 1, steps=16)
    assert len(seen) == known, "lengths are no part of what is compiled"
    in_bfloat16 = torch.autocast("cpu", torch.bfloat16)
    for batch, hidden, case in IN_BFLOAT16:
        in_bfloat16(launch_all)(door.unroll, batch, hidden, case, masked=True)
    driver.set_active(Away(of_fullest))
    for batch, hidden, case in FULLEST:
        launch_all(door.unroll, batch, hidden, case, masked=False, evaluates=False)
    for batch, hidden, case in FULLEST_IN_BFLOAT16:
        in_bfloat16(launch_all)(door.unroll, batch, hidden, case, masked=True, evaluates=False)


def on_the_stack(machine_code: bytes) -> int:
    """Bytes on the stack of a thread, as reported by NVIDIA's tool, which comes with Triton."""
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(machine_code)
        file.flush()
        told = subprocess.run([tool, "--dump-resource-usage", file.name], capture_output=True, text=True, check=True)
    [stack] = re.findall(r" STACK:(\d+) ", told.stdout)
    return int(stack)


def launch_all(
    unroll: Any,
    batch: int,
    hidden: int,
    case: tuple[str, str, dict[str, Any]],
    masked: bool,
    steps: int = 2,
    evaluates: bool = True,
) -> None:
    """Launch the forward and backward kernels, and for batch norm those of the evaluation by the population."""
    cell, method, options = case
    built = cell_of(cell, method, options, inputs=3, hidden=hidden).float()
    x, start = drawn(built, steps=steps, batch=batch)
    everything(unroll, built, x, start, torch.ones(steps, batch, dtype=torch.bool) if masked else None)
    if method == "recurrent_batch_norm" and evaluates:
        know_a_population(built, steps=steps)
        with torch.no_grad():
            unroll(built.eval(), x, start)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
