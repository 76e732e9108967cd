"""The wheel holds all files that the programs need, including files that are not Python."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from normcore.kernels.cpu.build import SOURCES

ROOT = Path(__file__).parent.parent
PARTS = ("pyproject.toml", "README.md", "LICENSE", "normbench", "normcore", "service", "workers", "migrations")


GUIDE = {"index.html", "assets/javascripts/bundle.js", "results/reproductions/a/curves.svg"}
"""Files as `make guide` writes them."""


def build_wheel(tmp_path: Path) -> Path:
    """Build a wheel of a copy of the tree whose guide has the pages ``GUIDE``; return the wheel."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__", "prebuilt"))
        else:
            shutil.copy(ROOT / part, tree)
    guide = tree / "service/pages/built_guide"
    shutil.rmtree(guide, ignore_errors=True)
    for page in GUIDE:
        (guide / page).parent.mkdir(parents=True, exist_ok=True)
        (guide / page).write_text(page)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, str(tmp_path), str(tree)], check=True, capture_output=True)
    [wheel] = tmp_path.glob("normbench-*.whl")
    return wheel


def test_the_wheel_holds_the_kernels_sources_and_the_guide(tmp_path: Path) -> None:
    with ZipFile(build_wheel(tmp_path)) as packed:
        pages = {name.partition("built_guide/")[2] for name in packed.namelist() if "built_guide/" in name}
        inside = {name: packed.read(name) for name in packed.namelist() if name.startswith("normcore/kernels/cpu/src/")}
    assert pages == GUIDE
    sources = {f"normcore/kernels/cpu/src/{path.name}": path.read_bytes() for path in SOURCES.iterdir()}
    assert "normcore/kernels/cpu/src/kernel.cpp" in sources
    assert inside == sources, "all of them, byte for byte: objects go by their digest"
