"""The reference kernel is timed and leaves nothing behind."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

import pytest
import torch

from normcore.probe import TIMES, probe

CPU = torch.device("cpu")
HOG = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile True: pass"


def test_no_generator_moves_and_no_thread_is_added() -> None:
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    seconds = probe(CPU)
    assert len(seconds) == TIMES
    assert all(0 < each < 10 for each in seconds)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@pytest.fixture
def one_core() -> Iterator[int]:
    """This thread has one core alone."""
    cores = os.sched_getaffinity(0)
    core = max(cores)
    os.sched_setaffinity(0, {core})
    yield core
    os.sched_setaffinity(0, cores)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be pinned here")
def test_a_hog_on_its_core_is_seen(one_core: int) -> None:
    """By the least of the times where nothing of ours runs, whatever else does: a hog takes half of each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        quiet = min(min(probe(CPU)) for _ in range(3))
        with subprocess.Popen([sys.executable, "-c", HOG, str(one_core)], stdout=subprocess.PIPE) as hog:
            assert hog.stdout is not None
            hog.stdout.readline()
            time.sleep(0.05)  # so that the kernel has both on its list
            disturbed = median(probe(CPU))
            hog.kill()
    finally:
        torch.set_num_threads(threads)
    assert disturbed > 1.3 * quiet
