"""Skip-thoughts (Kiros et al. 2015, arXiv:1506.06726; LN section 6.3).

Shapes: T words, B sentences, E numbers for a word, H numbers for a sentence, V words in the vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.cells.cell import HiddenState
from normcore.models.build import Build
from normcore.models.sentence_encoder import BOUND, SentenceEncoder
from normcore.models.words import Words
from normcore.recurrent import Recurrent, RecurrentState
from normcore.spec.models import skip_thoughts as spec


class SkipThoughts(nn.Module):
    """An encoder of a sentence, and decoders of the sentence before and the sentence after. The encoding is the first
    state of both decoders.

    In the paper, the decoders get the encoding at every step (Eq. 5-7). In the code that its authors published, and
    that LN's results were made with, the encoding is only the first state, as here.
    """

    def __init__(self, build: Build, options: spec.SkipThoughtsModel, words: int) -> None:
        super().__init__()
        self.encoder = SentenceEncoder(build, options.recurrent, words, options.embedding_size)
        self.before = build.recurrent(options.recurrent, options.embedding_size)
        self.after = build.recurrent(options.recurrent, options.embedding_size)
        self.readout = nn.Linear(options.hidden_size, words)
        nn.init.uniform_(self.readout.weight, -BOUND, BOUND)
        nn.init.zeros_(self.readout.bias)

    def forward(self, middle: Words, before: Words, after: Words) -> Tensor:
        """Compute -log P (B) of the sentences before and after each middle sentence, summed over words (Eq. 10)."""
        h = self.encoder(middle)
        return self._cost(self.before, h, before) + self._cost(self.after, h, after)

    def _cost(self, decoder: Recurrent, h: Tensor, words: Words) -> Tensor:
        """Compute -log P (B) of the sentences ``words``, by a decoder that starts from h. The decoder predicts each
        word from the words before it; before the first word it reads zeros."""
        embedded = self.encoder.embedding(words.codes)
        seen = torch.cat([torch.zeros_like(embedded[:1]), embedded[:-1]])
        y, _ = decoder(seen, words.lengths, RecurrentState((HiddenState(h),), 0), longest=words.longest)
        logits = self.readout(y.flatten(0, 1)[words.places])  # only of words, not of padding
        cost = functional.cross_entropy(logits, words.codes.flatten()[words.places], reduction="none")
        return cost.new_zeros(words.codes.numel()).index_copy(0, words.places, cost).view_as(words.codes).sum(0)
