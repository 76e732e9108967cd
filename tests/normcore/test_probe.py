"""The probe times the reference kernel and has no side effects."""

from statistics import median

import torch

from normcore.probe import TIMES, probe
from tests.hog import hog, one_core

CPU = torch.device("cpu")


def test_probe_leaves_generators_and_threads_unchanged() -> None:
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    seconds = probe(CPU)
    assert len(seconds) == TIMES
    assert all(0 < each < 10 for each in seconds)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_busy_process_on_the_same_core_raises_the_least_time() -> None:
    """The least time is from a quiet moment, whatever else runs here. A hog takes half of the core all the time."""
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
