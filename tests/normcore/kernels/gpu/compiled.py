"""Compiles every kernel that a cell launches, forward and backward, for devices that are not here.

``python -m tests.normcore.kernels.gpu.compiled CAPABILITY``, without TRITON_INTERPRET, prints one line of JSON for
each: its name, what it is compiled for, and how many bytes of shared memory it takes and of machine code it has.
"""

import importlib
import json
import re
import sys
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import JITFunction, driver

from tests.normcore.kernels.compared import CASES, cell_of, drawn, everything, know_a_population

STEPWISE = [(20, 100, case) for case in CASES if not case[2] or case[1] == "recurrent_batch_norm"]
IN_BFLOAT16: list[tuple[int, int, tuple[str, str, dict[str, Any]]]] = [
    *[(20, 128, ("lstm", method, {})) for method in ("none", "layer_norm", "rms_norm")],
    (20, 128, ("gru", "layer_norm", {})),
    (20, 256, ("rnn", "layer_norm", {})),
    *[(32, 64, (cell, "recurrent_batch_norm", {})) for cell in ("lstm", "gru")],
    (64, 64, ("rnn", "recurrent_batch_norm", {})),
]  # the most shared memory
IN_ONE_KERNEL = [
    *[(20, 16, case) for case in CASES if case[1] != "recurrent_batch_norm" or not case[2]],
    *[(64, 64, ("lstm", method, {})) for method in ("layer_norm", "recurrent_batch_norm")],  # the most shared memory
]


class Away:
    """As much of Triton's driver as compiling asks for."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_device(self) -> int:
        return self.capability

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)


def main(capability: int) -> None:
    driver.set_active(Away(capability))
    seen = set()
    launch = JITFunction.run

    def compiled(self: JITFunction[Any], *args: Any, grid: Any, warmup: bool, **meant: Any) -> Any:
        kernel = launch(self, *args, grid=grid, warmup=True, **meant)
        if kernel.hash not in seen:
            seen.add(kernel.hash)
            [target] = re.findall(r"^\.target (\w+)", kernel.asm["ptx"], re.MULTILINE)
            told = {"kernel": self.__name__, **meant, "target": target, "shared": kernel.metadata.shared}
            told["in_bfloat16"] = "*bf16" in kernel.src.signature.values()
            print(json.dumps({**told, "machine_code": len(kernel.asm["cubin"])}))
        return kernel

    JITFunction.run = compiled
    door: Any = importlib.import_module("normcore.kernels.gpu.unroll")
    door._runs_on = lambda device: True
    for k, (batch, hidden, case) in enumerate([*STEPWISE, *IN_ONE_KERNEL]):
        launch_all(door.unroll, batch, hidden, case, masked=k % 2 == 1)
    with torch.autocast("cpu", torch.bfloat16):
        for batch, hidden, case in IN_BFLOAT16:
            launch_all(door.unroll, batch, hidden, case, masked=True)


def launch_all(unroll: Any, batch: int, hidden: int, case: tuple[str, str, dict[str, Any]], masked: bool) -> None:
    """Forward, backward and, of batch norm, by the population."""
    cell, method, options = case
    built = cell_of(cell, method, options, inputs=3, hidden=hidden).float()
    x, start = drawn(built, steps=2, batch=batch)
    everything(unroll, built, x, start, torch.ones(2, batch, dtype=torch.bool) if masked else None)
    if method == "recurrent_batch_norm":
        know_a_population(built, steps=2)
        with torch.no_grad():
            unroll(built.eval(), x, start)


if __name__ == "__main__":
    main(int(sys.argv[1]))
