"""Compile the kernels: one object per cell, precision and instruction set, in the user's cache directory.

For a cluster whose nodes have no compiler, build the objects in advance: ``python -m normcore.kernels.cpu.build``.
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
SELF_CONTAINED = ("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL")  # objects run with any libstdc++
FLAGS = (
    *("-std=c++20", "-O3", "-fno-math-errno", "-shared", "-fPIC", "-fopenmp"),
    *(SELF_CONTAINED if sys.platform == "linux" else ()),
)
COMPILE_SECONDS = 180.0  # a working compiler ends within this time
CELLS = ("LSTM", "GRU", "RNN")
PORTABLE = "portable"
INSTRUCTION_SETS = ("x86-64-v4", "x86-64-v3", PORTABLE)
"""Instruction sets for which objects are built: AVX-512, AVX2, and the compiler's default."""


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
    """Return the path of the variant's object: in ``folder``, by default in the user's cache directory.

    Without a compiler it is the newest object of this name in the cache, built by any compiler: the name contains a
    digest of sources and flags.

    Raises:
        BuildFailed: there is neither a compiler nor such an object.
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


def build_if_missing(variant: Variant, folder: Path | None = None, limit: Limit | None = None) -> Path:
    """Return the path of the variant's object in ``folder``, by default the user's cache directory. The object is
    compiled if it is not there.

    If several processes need the object, one process compiles it and the others wait.

    Raises:
        BuildFailed: there is no compiler, it fails or takes too long, or the folder cannot be written.
    """
    target = place_of(variant, folder)
    if os.path.exists(target):  # Path.exists() raises without permission
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
    """Compile the variant to ``target``. Whatever happens, ``target`` is the whole object or does not exist."""
    unfinished = target.with_suffix(f".{os.getpid()}")
    try:
        output(variant.command(unfinished), limit)
        _sync(unfinished)
        unfinished.replace(target)
        _sync(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Write a file or a folder to the disk, because a power cut could leave a file's name without its content."""
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
    """Build the float32 objects of all cells for the given instruction sets into the package. On machines other than
    x86, which have no choice of instruction sets, build the portable objects."""
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    variants = [Variant(cell, False, name) for name in (instruction_sets if is_x86 else [PORTABLE]) for cell in CELLS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for path in pool.map(lambda variant: build_if_missing(variant, PREBUILT), variants):
                print(path)
        except BaseException:  # Ctrl-C does not reach the compilers
            stop()
            raise


if __name__ == "__main__":
    main(sys.argv[1:] or INSTRUCTION_SETS)
