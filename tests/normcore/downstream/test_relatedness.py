"""Predicted relatedness of sentences from their vectors."""

import numpy as np
import pytest
import torch

from normcore.downstream.relatedness import Pairs, relatedness, soft_labels


def pairs(count: int, seed: int, says: float = 1.0) -> Pairs:
    """Make pairs whose score is higher for closer vectors; 1 - ``says`` is the share of noise in the score."""
    random = np.random.RandomState(seed)
    first = random.randn(count, 4)
    apart = random.rand(count, 1) * 2
    second = first + apart * random.randn(count, 4)
    told = np.clip(5 - 2 * says * apart[:, 0] - (1 - says) * 4 * random.rand(count), 1, 5)
    return Pairs(first, second, told)


@pytest.mark.parametrize(
    ("score", "expected"),
    [(1.0, [1, 0, 0, 0, 0]), (3.6, [0, 0, 0.4, 0.6, 0]), (4.9, [0, 0, 0, 0.1, 0.9]), (5.0, [0, 0, 0, 0, 1])],
)
def test_score_is_split_between_the_adjacent_whole_scores(score: float, expected: list[float]) -> None:
    (row,) = soft_labels(np.array([score]))
    np.testing.assert_allclose(row, expected, atol=1e-12)
    assert row @ np.arange(1, 6) == pytest.approx(score)


def test_only_vectors_with_information_on_the_score_correlate() -> None:
    found = relatedness(pairs(300, 0), pairs(80, 1), pairs(80, 2))
    assert found.pearson > 0.7
    assert found.spearman > 0.7
    assert found.mse < np.var(pairs(80, 2).scores) * 0.6
    blind = relatedness(pairs(300, 0, says=0), pairs(80, 1, says=0), pairs(80, 2, says=0))
    assert abs(blind.pearson) < 0.35
    assert blind.mse > found.mse


def test_equal_vectors_correlate_with_nothing() -> None:
    same = Pairs(np.ones((30, 4)), np.ones((30, 4)), np.linspace(1, 5, 30))
    found = relatedness(same, same, same)
    assert (found.pearson, found.spearman) == (0, 0)
    assert found.mse == pytest.approx(np.var(same.scores), abs=0.05)


def test_generator_of_torch_is_unchanged_and_the_result_is_reproducible() -> None:
    before = torch.get_rng_state()
    one, two = (relatedness(pairs(40, 0), pairs(20, 1), pairs(20, 2)) for _ in range(2))
    assert one == two
    assert torch.equal(torch.get_rng_state(), before)
