"""Compile the kernels: one object per cell, precision and instruction set, in the user's cache directory.

A cluster whose nodes have no compiler gets its objects beforehand: ``python -m normcore.kernels.cpu.build``.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import filelock
import platformdirs

from normcore.kernels.cpu.compiler import COMPILER, BuildFailed, Limit, output, stop, version
from normcore.norms.recurrent_batch_norm import ROUNDING

SOURCES = Path(__file__).parent / "src"
PREBUILT = Path(__file__).parent / "prebuilt"
SELF_CONTAINED = ("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL")  # they run beside any libstdc++
FLAGS = (
    *("-std=c++20", "-O3", "-fno-math-errno", "-shared", "-fPIC", "-fopenmp"),
    *(SELF_CONTAINED if sys.platform == "linux" else ()),
)
COMPILE_SECONDS = 180.0  # by which a compiler has ended that works at all
CELLS = ("LSTM", "GRU", "RNN")
PORTABLE = "portable"
INSTRUCTION_SETS = ("x86-64-v4", "x86-64-v3", PORTABLE)
"""What objects are built for: AVX-512, AVX2, and whatever the compiler takes for granted."""


class Variant(NamedTuple):
    """Variant of the compiled object: each cell, precision and processor has a file of its own."""

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
        built_for = f"{self.instruction_set}, {COMPILER} "
        told = {"CELL": self.cell, "ROUNDING": ROUNDING, "BUILT": f'"{built_for}"'}
        flags = [*FLAGS, *(f"-DNORMBENCH_{name}={value}" for name, value in told.items())]
        if self.float64:
            flags.append("-DNORMBENCH_FLOAT64")
        if self.instruction_set != PORTABLE:
            flags.append(f"-march={self.instruction_set}")
        return flags

    def command(self, target: Path) -> list[str]:
        return [COMPILER, *self.flags, str(SOURCES / "kernel.cpp"), "-o", str(target)]


def place_of(variant: Variant, folder: Path | None = None) -> Path:
    """Path of the variant's object: in ``folder``, or else in the user's cache directory.

    Without a compiler it is the newest object there, whichever has built it: sources and flags are in its name.

    Raises:
        BuildFailed: there is neither.
    """
    if folder is not None:
        return folder / variant.file_name
    cached = platformdirs.user_cache_path("normbench") / "kernels"
    try:
        return cached / f"{COMPILER}-{version()}" / variant.file_name
    except BuildFailed:
        of_others = sorted(cached.glob(f"{COMPILER}-*/{variant.file_name}"), key=os.path.getmtime)
        if not of_others:
            raise
        return of_others[-1]


def built(variant: Variant, folder: Path | None = None, limit: Limit | None = None) -> Path:
    """The variant's object in ``folder``, the user's cache directory by default; compiled if it is not there.

    Of several processes one compiles, the others wait.

    Raises:
        BuildFailed: there is no compiler, it fails or takes too long, or the folder cannot be written.
    """
    target = place_of(variant, folder)
    if os.path.exists(target):  # Path.exists() raises where one may not look
        return target
    limit = limit or Limit(COMPILE_SECONDS)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{target}.lock", timeout=limit.left):
            if not target.exists():
                _compile(variant, target, limit)
    except filelock.Timeout as error:
        raise BuildFailed(f"another process did not finish {target} within {limit.seconds:.0f} s") from error
    except OSError as error:
        raise BuildFailed(f"{target.parent} cannot be written: {error}") from error
    return target


def _compile(variant: Variant, target: Path, limit: Limit) -> None:
    """Whatever happens, there is the whole object under its name, or none."""
    unfinished = target.with_suffix(f".{os.getpid()}")
    try:
        output(variant.command(unfinished), limit)
        _sync(unfinished)
        unfinished.replace(target)
        _sync(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have it on the disk: a power cut could leave a name without its content."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _digest(flags: str) -> str:
    """Digest of the sources and of the compiler's flags."""
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
        try:
            for path in pool.map(lambda variant: built(variant, PREBUILT), variants):
                print(path)
        except BaseException:  # Ctrl-C does not reach the compilers
            stop()
            raise


if __name__ == "__main__":
    main(sys.argv[1:] or INSTRUCTION_SETS)
