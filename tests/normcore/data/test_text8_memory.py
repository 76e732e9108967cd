"""A text as long as text8 is held in memory once, with one byte per character."""

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = 100_000_000  # bytes
READ = """
import re, sys
from pathlib import Path
import torch
from normcore.data import text8
from normcore.data.registry import DataFile, Dataset
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
folder, sha256, size = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
before = peak()
corpus = text8.read(Dataset("long", "", "", "", "", (DataFile("long", sha256, size),)), text8.TEXT8_SPLIT, folder)
assert [len(part) for part in (corpus.train, corpus.valid, corpus.test)] == [90_000_000, 5_000_000, 5_000_000]
assert corpus.test[-1] == 2
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["long", "long.gz"])
def test_a_text_of_a_hundred_million_characters_takes_less_than_two_hundred_megabytes(
    tmp_path: Path, name: str
) -> None:
    content = b"ab" * (SIZE // 2)
    (tmp_path / "long").mkdir()
    (tmp_path / "long" / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    arguments = [str(tmp_path), hashlib.sha256(content).hexdigest(), str(SIZE)]
    done = subprocess.run([sys.executable, "-c", READ, *arguments], capture_output=True, text=True, check=True)
    assert 90_000_000 < int(done.stdout) < 150_000_000
