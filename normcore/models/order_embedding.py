"""Order-embeddings (Vendrov et al. 2016, arXiv:1511.06361; LN section 6.1).

Shapes: B images or captions, F features of an image, H numbers of either.
"""

import torch
from torch import Tensor, nn

from normcore.models.build import Build
from normcore.models.sentence_encoder import SentenceEncoder
from normcore.models.words import Words
from normcore.norms.normalization import needs_float64
from normcore.spec.models import order_embedding as spec

MARGIN = 0.05
SHORTEST = 1e-12  # rows that are shorter are divided by this instead of by their length
DIFFERENCES = 1 << 22  # differences in memory at once: few enough for a cache


class OrderEmbedding(nn.Module):
    """Embeddings of captions and images. A caption is more general than its image, so it lies below the image in every
    dimension."""

    def __init__(self, build: Build, options: spec.OrderEmbeddingModel, words: int, features: int) -> None:
        super().__init__()
        self.captions = SentenceEncoder(build, options.recurrent, words, options.embedding_size)
        self.image = nn.Linear(features, options.hidden_size)
        nn.init.xavier_uniform_(self.image.weight)
        nn.init.zeros_(self.image.bias)

    def embed_captions(self, words: Words) -> Tensor:
        """Embed captions as vectors (B, H) of length 1 without negative numbers."""
        return _unit(self.captions(words)).abs()

    def embed_images(self, features: Tensor) -> Tensor:
        """Embed the features (B, F) of images as vectors (B, H) of length 1 without negative numbers."""
        return _unit(self.image(_unit(features))).abs()


def _unit(rows: Tensor) -> Tensor:
    """Compute ``torch.nn.functional.normalize`` of rows (B, H), in float64 if squares leave the range of float32."""
    length: Tensor = rows.norm(dim=1, keepdim=True)
    if rows.is_cpu and needs_float64(length.square()):
        return _unit(rows.double()).to(rows.dtype)
    return rows / length.clamp_min(SHORTEST)


def energy(captions: Tensor, images: Tensor) -> Tensor:
    """Compute E(s, i) = sum max(0, s - i)^2 (C, I) of every caption s (C, H) with every image i (I, H). E measures how
    much the pair violates the order (Vendrov et al., Eq. 2)."""
    at_once = max(1, DIFFERENCES // (images.numel() or 1))
    return torch.cat(
        [(some.unsqueeze(1) - images.unsqueeze(0)).relu().square().sum(2) for some in torch.split(captions, at_once)]
    )


def contrastive_loss(captions: Tensor, images: Tensor) -> Tensor:
    """Contrastive loss of a minibatch (Vendrov et al., Eq. 3; LN section 6.1):

        sum_s,i (sum_s' max(0, MARGIN + E(s, i) - E(s', i)) + sum_i' max(0, MARGIN + E(s, i) - E(s, i')))

    s and i are a caption and its image. s' and i' are the other captions and images of the minibatch.
    """
    e = energy(captions, images)
    own = e.diagonal()
    others = ~torch.eye(len(e), dtype=torch.bool, device=e.device)
    of_image = (MARGIN + own.unsqueeze(0) - e).relu()  # another caption for the image
    of_caption = (MARGIN + own.unsqueeze(1) - e).relu()  # another image for the caption
    return ((of_image + of_caption) * others).sum()
