"""Encoder of sentences: the state of a GRU after the last word (Kiros et al. 2015, arXiv:1506.06726, section 2.1).

Shapes: T words, B sentences, H hidden units.
"""

from torch import Tensor, nn

from normcore.models.build import Build
from normcore.models.words import Words
from normcore.spec.models.recurrent import RecurrentModel

BOUND = 0.1  # initial embeddings and readouts are uniform from -BOUND to BOUND


class SentenceEncoder(nn.Module):
    """Encoder of sentences: word embeddings, which other networks may share, and a recurrent network that reads
    them."""

    def __init__(self, build: Build, options: RecurrentModel, words: int, embedding_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, embedding_size)
        nn.init.uniform_(self.embedding.weight, -BOUND, BOUND)
        self.network = build.recurrent(options, embedding_size)

    def forward(self, words: Words) -> Tensor:
        """Compute h (B, H) after the last word of each sentence."""
        _, end = self.network(self.embedding(words.codes), words.lengths, longest=words.longest)
        h: Tensor = end.cells[-1].h
        return h
