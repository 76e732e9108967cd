"""Updates of Adam equal those of torch."""

import pytest
import torch

from normcore.spec.optimizers.adam import Adam
from normcore.training import optimizers
from tests.normcore.training.optimizers.paths import GRADIENTS


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_adam_equals_torch_bit_for_bit(dtype: torch.dtype) -> None:
    ours, theirs = (torch.nn.Parameter(torch.linspace(-1, 1, 3, dtype=dtype)) for _ in range(2))
    optimizer = optimizers.build(Adam(lr=0.01, beta1=0.8, beta2=0.99, eps=1e-3), [ours])
    torchs = torch.optim.Adam([theirs], 0.01, (0.8, 0.99), 1e-3, foreach=True)
    for gradient in GRADIENTS.repeat(20, 1).to(dtype):
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        optimizer.step()
        torchs.step()
        assert torch.equal(ours, theirs)
