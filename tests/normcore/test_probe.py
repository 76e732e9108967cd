"""The reference kernel is timed and leaves nothing behind."""

from statistics import median

import torch

from normcore.probe import TIMES, probe
from tests.hog import hog, one_core

CPU = torch.device("cpu")


def test_no_generator_moves_and_no_thread_is_added() -> None:
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    seconds = probe(CPU)
    assert len(seconds) == TIMES
    assert all(0 < each < 10 for each in seconds)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_a_hog_on_its_core_is_seen() -> None:
    """The least time is that of a quiet moment, whatever else runs here; a hog takes half of every one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_core() as core:
            quiet = min(min(probe(CPU)) for _ in range(3))
            with hog(core):
                disturbed = median(probe(CPU))
    finally:
        torch.set_num_threads(threads)
    assert disturbed > 1.3 * quiet
