"""Processes that build kernels."""

import os
import subprocess
import sys
from pathlib import Path

from normcore.kernels.cpu.build import Variant
from normcore.kernels.cpu.load import instruction_set

RNN = Variant("RNN", False, instruction_set())
PREPARE = """
import os, sys, time
from normcore.kernels.cpu import build
sys.modules["normcore.kernels.cpu.load"].COMPILE_SECONDS = 2.0
from normcore.kernels.cpu.load import KernelsMissing, prepare
os.cpu_count = lambda: 1
began = time.monotonic()
try:
    prepare()
except KernelsMissing as error:
    print(error)
print(time.monotonic() - began)
"""
BUILD = """
import sys
from pathlib import Path
from normcore.kernels.cpu import build
build.PREBUILT = Path(sys.argv[1])
build.main(["x86-64-v3"])
"""


def python(script: str, *arguments: str, cwd: Path | None = None, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **environment},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
