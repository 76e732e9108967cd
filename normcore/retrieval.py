"""Retrieval of images by captions and of captions by images: LN section 6.1, after Vendrov et al. 2016,
arXiv:1511.06361.

Shapes: I images, C captions, K of them to each image, those of image i being i K ... i K + K - 1. An energy is least
for what fits best. A rank is the place of what belongs together among all candidates, counted from 1; candidates that
fit as well stand before it, so that a model that answers the same to all, or no number, is last and not first.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


def image_ranks(energies: Tensor) -> Tensor:
    """Every caption looks for its image: ranks (C) of energies (C, I).

    Raises:
        ValueError: the captions cannot be shared out among the images.
    """
    own = torch.arange(len(energies), device=energies.device) // _captions_per_image(energies)
    return (~(energies > energies.gather(1, own.unsqueeze(1)))).sum(1)


def caption_ranks(energies: Tensor) -> Tensor:
    """Every image looks for its captions, of which the best counts: ranks (I) of energies (C, I).

    Raises:
        ValueError: the captions cannot be shared out among the images.
    """
    own = energies.view(-1, _captions_per_image(energies), energies.shape[1]).diagonal(dim1=0, dim2=2)  # (K, I)
    best = own.amin(0)
    others: Tensor = (~(energies > best)).sum(0) - (~(own > best)).sum(0)
    return 1 + others


def scores(ranks: Tensor, places: Iterable[int]) -> dict[str, float]:
    """``r1`` and so on: the share of ranks among the first so many places; and ``mean_rank``."""
    recalls = {f"r{k}": (ranks <= k).double().mean().item() for k in places}
    return {**recalls, "mean_rank": ranks.double().mean().item()}


def _captions_per_image(energies: Tensor) -> int:
    captions, images = energies.shape
    if captions % images:
        raise ValueError(f"expected as many captions for each of {images} images, received {captions} in all")
    return captions // images
