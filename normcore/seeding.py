"""Seeds and determinism: all random numbers of a run come from its seed, whatever else the process does."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import deterministic as _deterministic

deterministic: Any = _deterministic  # an object with properties in place of the module, which mypy does not know


def derived_seed(seed: int, purpose: str) -> int:
    """Derive a seed for one purpose from a run's seed. Seeds of different purposes are unrelated."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{purpose}".encode()).digest()[:8], "big") >> 1


@contextmanager
def reproducible(seed: int, device: torch.device, threads: int) -> Iterator[None]:
    """Make torch reproducible in a ``with`` block: its random generators start from ``seed``, its algorithms are
    deterministic, and it uses ``threads`` threads.

    Denormal numbers become 0. Over hundreds of steps gradients shrink to denormal numbers, and each product of such
    numbers takes the processor some twenty times as long. After the block denormal numbers are kept, and all other
    settings are as before the block.
    """
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_deterministic_debug_mode(), torch.get_num_threads()
    filled = deterministic.fill_uninitialized_memory
    generators = generator_states(device)
    try:
        torch.manual_seed(derived_seed(seed, "model"))
        torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms would import torch's compiler
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)
        deterministic.fill_uninitialized_memory = False  # filling with NaN takes 3% of a training step
        yield
    finally:
        deterministic.fill_uninitialized_memory = filled
        torch.set_deterministic_debug_mode(before[0])
        torch.set_num_threads(before[1])
        torch.set_flush_denormal(False)
        set_generator_states(generators, device)


def order_generator(seed: int) -> torch.Generator:
    """Make the random generator that decides the order of the training data."""
    return torch.Generator().manual_seed(derived_seed(seed, "order"))


def batch_generator(seed: int) -> torch.Generator:
    """Make the random generator for numbers that a task draws anew for each batch."""
    return torch.Generator().manual_seed(derived_seed(seed, "batches"))


def generator_states(device: torch.device) -> dict[str, Any]:
    """Return the states of torch's global random generators: the CPU's, and that of ``device`` if it is a GPU."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_generator_states(states: dict[str, Any], device: torch.device) -> None:
    """Set torch's global random generators to ``states``. The state of a device that is not in use is ignored."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
