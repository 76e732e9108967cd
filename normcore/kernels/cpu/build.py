"""Compile the kernels: one object per cell, precision and instruction set, in the user's cache directory.

A cluster whose nodes have no compiler gets its objects beforehand: ``python -m normcore.kernels.cpu.build``.
"""

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import filelock
import platformdirs

SOURCES = Path(__file__).parent / "src"
PREBUILT = Path(__file__).parent / "prebuilt"
COMPILER = "g++"
SELF_CONTAINED = ("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL")  # they run beside any libstdc++
FLAGS = (
    *("-std=c++20", "-O3", "-fno-math-errno", "-shared", "-fPIC", "-pthread"),
    *(SELF_CONTAINED if sys.platform == "linux" else ()),
)
COMPILE_SECONDS = 180.0  # by which a compiler has ended that works at all
CELLS = ("LSTM", "GRU", "RNN")
PORTABLE = "portable"
INSTRUCTION_SETS = ("x86-64-v4", "x86-64-v3", PORTABLE)
"""What objects are built for: AVX-512, AVX2, and whatever the compiler takes for granted."""


class BuildFailed(RuntimeError):
    """The kernels could not be compiled, and why."""


class Variant(NamedTuple):
    """Which of the objects: those of other cells, precisions and processors are files of their own."""

    cell: str
    float64: bool
    instruction_set: str

    @property
    def file_name(self) -> str:
        precision = "float64" if self.float64 else "float32"
        machine = platform.machine()
        digest = _digest(" ".join(self.flags))
        return f"{self.cell.lower()}-{precision}-{machine}-{self.instruction_set}-{digest}.so"

    @property
    def flags(self) -> list[str]:
        flags = [*FLAGS, f"-DNORMBENCH_CELL={self.cell}", f'-DNORMBENCH_BUILT="{self.instruction_set}, {COMPILER} "']
        if self.float64:
            flags.append("-DNORMBENCH_FLOAT64")
        if self.instruction_set != PORTABLE:
            flags.append(f"-march={self.instruction_set}")
        return flags

    def command(self, target: Path) -> list[str]:
        return [COMPILER, *self.flags, str(SOURCES / "kernel.cpp"), "-o", str(target)]


def place_of(variant: Variant, folder: Path | None = None) -> Path:
    """Where the variant's object is, or will be: in ``folder``, or else in the user's cache directory.

    Raises:
        BuildFailed: there is no compiler, whose version names the folder in the cache.
    """
    folder = folder or platformdirs.user_cache_path("normbench") / "kernels" / _compiler()
    return folder / variant.file_name


def built(variant: Variant, folder: Path | None = None) -> Path:
    """The variant's object in ``folder``, the user's cache directory by default; compiled if it is not there.

    Of several processes one compiles, the others wait.

    Raises:
        BuildFailed: there is no compiler, it fails, or the folder cannot be written.
    """
    target = place_of(variant, folder)
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{target}.lock", timeout=COMPILE_SECONDS):
            if not target.exists():
                _compile(variant, target)
    except (OSError, filelock.Timeout) as error:
        raise BuildFailed(f"{target.parent} cannot be written: {error}") from error
    return target


def _compile(variant: Variant, target: Path) -> None:
    """Whatever happens, there is the whole object under its name, or none."""
    unfinished = target.with_suffix(f".{os.getpid()}")
    try:
        _output(variant.command(unfinished))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


@cache
def _compiler() -> str:
    return f"{COMPILER}-{_output([COMPILER, '-dumpfullversion']).strip()}"


def _output(command: Sequence[str]) -> str:
    """What a compiler printed.

    Raises:
        BuildFailed: it is not there, failed, or did not end.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
    except FileNotFoundError as error:
        raise BuildFailed(f"there is no {COMPILER}; install it (Debian: apt install g++)") from error
    except subprocess.TimeoutExpired as error:
        raise BuildFailed(f"{COMPILER} did not end within {COMPILE_SECONDS:.0f} s") from error
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()
        raise BuildFailed(f"{COMPILER} ended with {done.returncode}: {told[0] if told else 'it said nothing'}")
    return done.stdout


@cache
def _digest(flags: str) -> str:
    """Of the sources and how they are compiled."""
    digest = hashlib.sha256(flags.encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def main(instruction_sets: Sequence[str]) -> None:
    """Build the float32 objects of all cells for these processors into the package; on a machine of another kind, for
    which there is no choice, the portable ones."""
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    variants = [Variant(cell, False, name) for name in (instruction_sets if is_x86 else [PORTABLE]) for cell in CELLS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path in pool.map(lambda variant: built(variant, PREBUILT), variants):
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:] or INSTRUCTION_SETS)
