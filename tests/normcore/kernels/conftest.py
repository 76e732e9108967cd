from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """Fill new memory with NaN, so that results that a kernel does not write are seen."""
    torch.use_deterministic_algorithms(True)
    assert torch.ones(3).new_empty(2).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)
