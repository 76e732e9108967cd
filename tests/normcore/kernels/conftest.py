from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """New memory holds NaN, which comes out wherever nothing is written."""
    torch.use_deterministic_algorithms(True)
    assert torch.ones(3).new_empty(2).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)
