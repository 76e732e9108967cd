"""Installation of packages beside normbench for a test, into a separate folder."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from typing import Any

from tests.warm_python import WarmPython, warm_python

ROOT = Path(__file__).parents[2]


def install(source: Path, folder: Path) -> str:
    """Install the package in ``source`` below ``folder``; return its PYTHONPATH. Nothing is written to ``source``."""
    built = copytree(source, folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder / "installed"), str(built)], check=True, timeout=120)
    return f"{folder / 'installed'}:{ROOT}"


def run(pythonpath: str, folder: Path, *command: str) -> str:
    """Run Python with ``command`` in a separate process in ``folder``; return the output."""
    done = subprocess.run(
        [sys.executable, *command],
        env=environment(pythonpath, folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_blocks(pythonpath: str, folder: Path, example: str) -> str:
    """Run the blocks of an example's page as pytest does; return pytest's last line."""
    options = ("-q", "-p", "no:cacheprovider", "-k", f"every_block and {example}")
    return run(pythonpath, folder, "-m", "pytest", *options, str(ROOT / "tests/guide/test_documents.py")).splitlines()[
        -1
    ]


def environment(pythonpath: str, folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": pythonpath, "PATH": "", "HOME": str(folder), "OMP_NUM_THREADS": "1"}


@contextmanager
def trainer(pythonpath: str, folder: Path) -> Iterator[WarmPython]:
    """A process that has imported what each training needs, and nothing of the packages in ``pythonpath``. Trainings
    probe the machine once.
    """
    with warm_python(
        ["normcore.run", "tests.brief_probes.brief_probe"], environment(pythonpath, folder), folder
    ) as python:
        yield python


def events(python: WarmPython, folder: Path, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run ``python -m normcore`` for a spec; return the printed events."""
    (folder / "spec.json").write_text(json.dumps(spec))
    return [json.loads(line) for line in python.run(folder, "-m", "normcore", "spec.json").splitlines()]
