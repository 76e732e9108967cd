import subprocess
import sys

import pytest

ALLOCATE_AND_FREE = """
import torch
torch.set_num_threads(1)
from normcore.memory import keep_freed_memory
{keep}
def mapped():
    return sum(
        int(end, 16) - int(start, 16)
        for start, end in (line.split()[0].split("-") for line in open("/proc/self/maps"))
    )
before = mapped()
torch.ones(2**22)
print((mapped() - before) // 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
@pytest.mark.parametrize(("keep", "stays"), [("keep_freed_memory()", True), ("", False)])
def test_freed_memory_is_kept_only_when_asked_for(keep: str, stays: bool) -> None:
    code = ALLOCATE_AND_FREE.format(keep=keep)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (int(done.stdout) >= 15) is stays
