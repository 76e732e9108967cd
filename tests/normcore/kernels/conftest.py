from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """Fill new memory with NaN, so that results that a kernel does not write are seen."""
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms would import torch's compiler
    assert torch.ones(3).new_empty(2).isnan().all()
    yield
    torch.set_deterministic_debug_mode("default")
