"""Recall and mean rank against counting by hand, and at what is known in advance."""

import numpy as np
import pytest
import torch

from normcore.retrieval import RetrievalScores, caption_retrieval, image_retrieval


def ranks_by_hand(energies: np.ndarray, per_image: int) -> tuple[list[int], list[int]]:
    """Of each caption's image, and of each image's best caption."""
    images, captions = energies.shape
    of_images = [1 + sum(energies[:, c] < energies[c // per_image, c]) for c in range(captions)]
    of_captions = []
    for i in range(images):
        order = list(np.argsort(energies[i]))
        of_captions.append(1 + min(order.index(c) for c in range(i * per_image, (i + 1) * per_image)))
    return of_images, of_captions


def scores(ranks: list[int]) -> RetrievalScores:
    first, among_5, among_10 = (100 * float(np.mean([rank <= k for rank in ranks])) for k in (1, 5, 10))
    return RetrievalScores(first, among_5, among_10, float(np.mean(ranks)))


def test_random_energies_put_the_image_in_the_middle() -> None:
    energies = torch.rand(1000, 5000, generator=torch.Generator().manual_seed(0))
    found = image_retrieval(energies)
    assert found.mean_rank == pytest.approx(500.5, abs=5 * 288.7 / 5000**0.5)  # uniform over 1 ... 1000
    assert found.recall_at_10 == pytest.approx(1, abs=5 * (99 / 5000) ** 0.5)


@pytest.mark.parametrize("per_image", [1, 3, 5])
def test_ranks_are_those_that_one_counts(per_image: int) -> None:
    energies = np.random.RandomState(0).rand(12, 12 * per_image)
    of_images, of_captions = ranks_by_hand(energies, per_image)
    assert image_retrieval(torch.from_numpy(energies)) == scores(of_images)
    assert caption_retrieval(torch.from_numpy(energies)) == scores(of_captions)


def test_a_model_that_answers_the_same_to_all_is_last() -> None:
    same = torch.zeros(10, 50)
    assert image_retrieval(same) == RetrievalScores(0, 0, 100, 10)
    assert caption_retrieval(same).mean_rank == 46


def test_captions_that_cannot_be_shared_out_are_an_error() -> None:
    with pytest.raises(ValueError, match="for each of 3 images, received 7 in all"):
        image_retrieval(torch.zeros(3, 7))
