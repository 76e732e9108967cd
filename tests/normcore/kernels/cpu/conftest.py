import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from normcore.kernels.cpu import compiler
from tests.warm_python import WarmPython, warm_python


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="package")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    modules = ["normcore.kernels", "normcore.spec.cells.rnn", "normcore.spec.methods.none"]
    with warm_python(modules, os.environ, tmp_path_factory.mktemp("warm")) as python:
        yield python


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder for a fake g++ that is found before the real g++; the cache of kernels is empty."""
    compiler._ask_version.cache_clear()
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.import_module("normcore.kernels.cpu.load"), "_tried", {})
    yield folder
    compiler._ask_version.cache_clear()
