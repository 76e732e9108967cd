"""Processes that build kernels, and fake commands instead of the compiler."""

import atexit
import os
import shutil
import stat
import subprocess
import sys
import tempfile
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


def command(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def _compiled_once() -> str:
    """Write a command that compiles without optimization, and only once in this process for the same arguments before
    the target. Its code is slow, which does not matter here."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    made = f'{folder}/$(printf "%s" "${{*%"$target"}}" | cksum | tr -d " ")'
    compiles = f'/usr/bin/g++ "$@" -O0 && cp "$target" "{made}.$$" && mv "{made}.$$" "{made}"'
    asks = 'case "$1" in -dump*) exec /usr/bin/g++ "$@";; esac\n'
    text = f'{asks}for target; do :; done\nif [ -e "{made}" ]; then exec cp "{made}" "$target"; fi\n{compiles}'
    return f'exec {command(folder / "bin", "g++", text)}/g++ "$@"'


QUICKLY = _compiled_once()
