"""Wheel: it holds all that runs, also files that are not Python."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from normcore.kernels.cpu.build import SOURCES

ROOT = Path(__file__).parent.parent
PARTS = ("pyproject.toml", "README.md", "LICENSE", "normbench", "normcore", "service", "workers", "migrations")


def test_the_wheel_holds_what_the_kernels_are_compiled_from(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__", "prebuilt"))
        else:
            shutil.copy(ROOT / part, tree)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, str(tmp_path), str(tree)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("normbench-*.whl")
    with ZipFile(wheel) as packed:
        inside = {name: packed.read(name) for name in packed.namelist() if name.startswith("normcore/kernels/cpu/src/")}
    sources = {f"normcore/kernels/cpu/src/{path.name}": path.read_bytes() for path in SOURCES.iterdir()}
    assert "normcore/kernels/cpu/src/kernel.cpp" in sources
    assert inside == sources, "all of them, byte for byte: objects go by their digest"
