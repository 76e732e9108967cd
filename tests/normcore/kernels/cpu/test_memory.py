"""AddressSanitizer finds no read or write of the kernels outside of their arrays."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.compilers import command
from tests.normcore.kernels.cpu.building import python

SANITIZE = "-fsanitize=address --param asan-instrumentation-with-call-threshold=0 -O0"
"""Each access is checked by a call, which compiles faster than code of its own. Compiling with -O3 takes minutes."""
RUN = """
import itertools, torch
from normcore.kernels import cpu
from tests.normcore.kernels.cell_pass import DEFAULTS, cell_of, drawn, everything, in_float32, some_mask

torch.set_num_threads(2)
SIZES = ((9, 70, 3), (3, 3, 21), (9, 20, 40))
for k, ((cell, method, *_), (batch, inputs, hidden)) in enumerate(itertools.product(DEFAULTS, SIZES)):
    built = cell_of(cell, method, {}, inputs=inputs, hidden=hidden)
    built, x, start = in_float32(built, *drawn(built, 3, batch))
    x = torch.eye(inputs)[x.argmax(2)] if inputs == 20 else x  # one-hot inputs have no products
    mask = some_mask(3, batch) if k % 2 else None  # each size, and each cell with each method, has both
    everything(cpu.unroll, built, x, start, mask)
    with torch.no_grad():
        cpu.unroll(built, x, start, 0, mask)
print("done")
"""


def test_sanitizer_finds_no_access_beyond_the_arrays(tmp_path: Path) -> None:
    sanitizer = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    folder = command(tmp_path / "bin", "g++", f'exec {shutil.which("g++")} "$@" {SANITIZE}')
    out, err = python(
        RUN,
        ASAN_OPTIONS="detect_leaks=0",
        LD_PRELOAD=sanitizer.stdout.strip(),
        PATH=f"{folder}:{os.environ['PATH']}",
        XDG_CACHE_HOME=str(tmp_path),
    ).communicate(timeout=300)
    assert out == "done\n", err[:2000]
