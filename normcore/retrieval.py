"""Retrieval of images by captions and of captions by images: LN section 6.1, after Vendrov et al. 2016,
arXiv:1511.06361.

Shapes: I images, C captions, K captions of each image; image i has the captions i K ... i K + K - 1. The pair that fits
best has the least energy. A rank is the place of the right candidate among all candidates, counted from 1. A candidate
with the same energy, or with NaN, stands before the right one. So a model that gives the same energy to all candidates,
or NaN, is ranked last and not first.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


def image_ranks(energies: Tensor) -> Tensor:
    """Search the image of every caption: energies (C, I) -> ranks (C) of the right images.

    Raises:
        ValueError: C is not a multiple of I.
    """
    own = torch.arange(len(energies), device=energies.device) // _captions_per_image(energies)
    return (~(energies > energies.gather(1, own.unsqueeze(1)))).sum(1)


def caption_ranks(energies: Tensor) -> Tensor:
    """Search the captions of every image: energies (C, I) -> ranks (I) of the best right caption.

    Raises:
        ValueError: C is not a multiple of I.
    """
    own = energies.view(-1, _captions_per_image(energies), energies.shape[1]).diagonal(dim1=0, dim2=2)  # (K, I)
    best = own.amin(0)
    others: Tensor = (~(energies > best)).sum(0) - (~(own > best)).sum(0)
    return 1 + others


def scores(ranks: Tensor, places: Iterable[int]) -> dict[str, float]:
    """Compute recalls and ``mean_rank``. For each k in ``places`` the recall ``rk`` is the share of ranks up to k."""
    recalls = {f"r{k}": (ranks <= k).double().mean().item() for k in places}
    return {**recalls, "mean_rank": ranks.double().mean().item()}


def _captions_per_image(energies: Tensor) -> int:
    captions, images = energies.shape
    if captions % images:
        raise ValueError(f"expected equally many captions for each of {images} images, received {captions} captions")
    return captions // images
