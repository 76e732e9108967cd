"""Several threads run one recurrence: each gets at least four vectors of units, or one example."""

import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from normcore.kernels import cpu
from tests.normcore.kernels.cell_pass import EXACT, cell_of, differences, drawn, everything, of_both, some_mask
from tests.normcore.kernels.twin import case, default


@case
def test_two_threads_equal_the_reference(cell: str, method: str, options: dict[str, Any]) -> None:
    torch.set_num_threads(2)
    built = cell_of(cell, method, options, inputs=3, hidden=70)
    x, start = drawn(built, steps=5, batch=7)
    found = of_both(cpu.unroll, built, x, start, some_mask(5, 7))
    assert max(found.values()) < EXACT, found


@default
def test_the_same_call_gives_the_same_bits_in_one_thread_and_in_two(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=200).float()
    x, start = drawn(built, steps=20, batch=33)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        first, second = (everything(cpu.unroll, built, x, start) for _ in range(2))
        for name, tensor in first.items():
            assert torch.equal(tensor, second[name]), name


@default
def test_only_sums_over_examples_differ_with_the_number_of_threads(cell: str, method: str) -> None:
    """Sums over the examples are the gradients of biases and gains, where threads divide the examples."""
    built = cell_of(cell, method, {}, inputs=3, hidden=200).float()
    x, start = drawn(built, steps=20, batch=33)
    of_threads = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        of_threads.append(everything(cpu.unroll, built, x, start))
    differ = {name for name, tensor in of_threads[0].items() if not torch.equal(tensor, of_threads[1][name])}
    assert all(of_threads[0][name].dim() == 1 for name in differ), differ
    assert (differ == set()) == (method == "recurrent_batch_norm")
    assert max(differences(of_threads[0], of_threads[1]).values()) < 1e-5


FEWER = """
import torch
from normcore.kernels import cpu
from tests.normcore.kernels.cell_pass import EXACT, cell_of, drawn, of_both

torch.set_num_threads(3)
for method in ("layer_norm", "recurrent_batch_norm"):
    built = cell_of("lstm", method, {}, inputs=3, hidden=200)
    found = of_both(cpu.unroll, built, *drawn(built, steps=5, batch=7))
    assert max(found.values()) < EXACT, found
"""


@pytest.mark.parametrize("limit", ["1", "2"])
def test_fewer_threads_than_asked_for_do_all_the_work(limit: str) -> None:
    environment = {**os.environ, "OMP_THREAD_LIMIT": limit}
    done = subprocess.run([sys.executable, "-c", FEWER], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_all_threads_flush_subnormals_like_the_caller_during_the_call() -> None:
    """The outputs tanh(x) are subnormal: in both threads they are kept, or in both they are 0."""
    torch.set_num_threads(2)
    built = cell_of("rnn", "none", {}, inputs=1, hidden=128).float()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.zero_()
        built.weight_ih.fill_(1)
    x, start = torch.full((1, 2, 1), 1e-40), built.initial_state(2)
    many = torch.full((1_000_000,), 1e-40)
    for flushes in (False, True, False):
        torch.set_flush_denormal(flushes)
        with torch.no_grad():
            y = cpu.unroll(built, x, start).y
        torch.set_flush_denormal(False)
        assert ((y == 0) == flushes).all()
        assert (many * 0.5 != 0).all()
