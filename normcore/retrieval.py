"""How well captions find their images and images their captions: LN section 6.1, after Vendrov et al. 2016,
arXiv:1511.06361.

Shapes: I images, C captions, K of them to each image, those of image i being i K ... i K + K - 1.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Where the right answer stands among all candidates.

    Attributes:
        recall_at_1, recall_at_5, recall_at_10: percent of the questions whose right answer is among the first so many.
        mean_rank: the first place is 1.
    """

    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mean_rank: float


def image_retrieval(energies: Tensor) -> RetrievalScores:
    """Every caption looks for its image; energies (I, C) are least for what fits best.

    Raises:
        ValueError: the captions cannot be shared out among the images.
    """
    per_image = _captions_per_image(energies)
    by_caption = energies.T.double()  # (C, I)
    own = by_caption.gather(1, torch.arange(len(by_caption), device=energies.device).unsqueeze(1) // per_image)
    return _scores((by_caption <= own).sum(1))


def caption_retrieval(energies: Tensor) -> RetrievalScores:
    """Every image looks for its captions, of which the best counts; energies (I, C).

    Raises:
        ValueError: the captions cannot be shared out among the images.
    """
    per_image = _captions_per_image(energies)
    images = torch.arange(len(energies), device=energies.device)
    own = energies.double().reshape(len(energies), -1, per_image)[images, images]  # (I, K)
    others = (energies.double() <= own.amin(1, keepdim=True)).sum(1) - (own <= own.amin(1, keepdim=True)).sum(1)
    return _scores(1 + others)


def _scores(ranks: Tensor) -> RetrievalScores:
    """Candidates that fit as well as the right one stand before it, so that a model that answers the same to all is
    last and not first."""
    at_1, at_5, at_10 = (100 * (ranks <= k).double().mean().item() for k in (1, 5, 10))
    return RetrievalScores(at_1, at_5, at_10, ranks.double().mean().item())


def _captions_per_image(energies: Tensor) -> int:
    images, captions = energies.shape
    if captions % images:
        raise ValueError(f"expected as many captions for each of {images} images, received {captions} in all")
    return captions // images
