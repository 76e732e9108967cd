"""Recall and mean rank equal those counted by hand, and known values of special cases."""

import numpy as np
import pytest
import torch

from normcore.retrieval import caption_ranks, image_ranks, scores


def ranks_by_hand(energies: np.ndarray, per_image: int) -> tuple[list[int], list[int]]:
    """Count the rank of each caption's image, and the rank of each image's best caption."""
    captions, images = energies.shape
    of_images = [1 + sum(energies[c] < energies[c, c // per_image]) for c in range(captions)]
    of_captions = []
    for i in range(images):
        order = list(np.argsort(energies[:, i]))
        of_captions.append(1 + min(order.index(c) for c in range(i * per_image, (i + 1) * per_image)))
    return of_images, of_captions


def test_random_energies_give_ranks_in_the_middle() -> None:
    energies = torch.rand(5000, 1000, generator=torch.Generator().manual_seed(0))
    found = scores(image_ranks(energies), [10])
    assert found["mean_rank"] == pytest.approx(500.5, abs=5 * 288.7 / 5000**0.5)  # uniform over 1 ... 1000
    assert found["r10"] == pytest.approx(0.01, abs=5 * (0.01 * 0.99 / 5000) ** 0.5)


@pytest.mark.parametrize("per_image", [1, 3, 5])
def test_ranks_equal_those_counted_by_hand(per_image: int) -> None:
    energies = np.random.RandomState(0).rand(12 * per_image, 12)
    of_images, of_captions = ranks_by_hand(energies, per_image)
    assert image_ranks(torch.from_numpy(energies)).tolist() == of_images
    assert caption_ranks(torch.from_numpy(energies)).tolist() == of_captions


def test_scores_are_shares_of_ranks_and_their_mean() -> None:
    assert scores(torch.tensor([1, 2, 5, 12]), [1, 5, 10]) == {"r1": 0.25, "r5": 0.75, "r10": 0.75, "mean_rank": 5.0}


@pytest.mark.parametrize("where", [(slice(None), slice(None)), (3, 1), (slice(None), 1), (3, slice(None))])
def test_nan_energies_get_the_last_rank_and_hide_no_other_match(where: tuple[slice | int, slice | int]) -> None:
    energies = 1 - torch.eye(4).repeat_interleave(2, 0)
    energies[where] = torch.nan
    own = torch.arange(8) // 2
    no_number = energies.gather(1, own.unsqueeze(1)).squeeze(1).isnan()
    assert image_ranks(energies)[no_number].eq(4).all()
    assert image_ranks(energies)[~no_number].ge(1).all()
    unknown = energies.view(4, 2, 4).diagonal(dim1=0, dim2=2).isnan().any(0)
    assert caption_ranks(energies)[unknown].ge(7).all()


def test_model_with_equal_energies_gets_the_last_ranks() -> None:
    same = torch.zeros(50, 10)
    assert image_ranks(same).tolist() == [10] * 50
    assert caption_ranks(same).tolist() == [46] * 10


def test_captions_that_images_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="for each of 3 images, received 7 captions"):
        image_ranks(torch.zeros(7, 3))
