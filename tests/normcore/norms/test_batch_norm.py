from typing import Literal

import pytest
import torch

from normcore.norms import build
from normcore.norms.population import population_statistics
from normcore.spec.methods.batch_norm import BatchNorm


@pytest.mark.parametrize(("variance", "less"), [("biased", 0), ("unbiased", 1)])
def test_output_is_the_equation(variance: Literal["biased", "unbiased"], less: int) -> None:
    torch.manual_seed(0)
    norm = build(BatchNorm(eps=1e-3, gain_init=0.5, variance=variance)).layer((3,)).double()
    a = torch.randn(4, 3, dtype=torch.float64)
    for k in range(3):
        mean = sum(a[:, k]) / 4
        var = sum((value - mean) ** 2 for value in a[:, k]) / (4 - less)
        expected = 0.5 * (a[:, k] - mean) / (var + 1e-3) ** 0.5
        torch.testing.assert_close(norm(a)[:, k], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_images_are_normalized_as_by_torch(mode: str) -> None:
    torch.manual_seed(0)
    ours, theirs = build(BatchNorm()).layer((3, 4, 5)).double(), torch.nn.BatchNorm2d(3, momentum=1.0).double()
    a = torch.randn(6, 3, 4, 5, dtype=torch.float64)
    theirs(a)
    with torch.no_grad():
        # torch stores the unbiased variance, the papers use the biased one
        theirs.get_buffer("running_var").mul_((6 * 4 * 5 - 1) / (6 * 4 * 5))
    with population_statistics(ours):
        ours(a)
    b = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    getattr(ours, mode)()
    getattr(theirs, mode)()
    torch.testing.assert_close(ours(b), theirs(b), rtol=0, atol=1e-12)
