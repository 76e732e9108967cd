"""Arrays that forward keeps for backward lie in one tensor, each from the beginning of a cache line on."""

import torch

from normcore.kernels.cpu.arrays import CACHE_LINE, Arrays


def test_each_array_begins_with_a_cache_line() -> None:
    sizes = [("", "kept_c", 3), ("input", "statistics", 17), ("cell", "statistics", 1)]
    found = Arrays.of(sizes, torch.float32, CACHE_LINE)
    assert found.fields == (("", "kept_c", 0), ("input", "statistics", 64), ("cell", "statistics", 192))
    assert found.size == 192 // 4 + 1
