"""Network for sentence vectors that predict the neighbouring sentences."""

from typing import ClassVar

from pydantic import Field

from normcore.spec.cells.gru import GRU
from normcore.spec.models.model import Cost, Model, Place
from normcore.spec.models.recurrent import RecurrentModel

NETWORKS = 3  # an encoder and two decoders


class SkipThoughtsModel(Model):
    """Network of three GRUs: one encodes a sentence, two predict the sentence before and the sentence after. All use
    the same word vectors, and both predictions use the same readout. Word vectors, readout and input weights start
    uniform in +-0.1, recurrent weights orthogonal gate by gate."""

    architecture: ClassVar[str] = "skip_thoughts"
    home: ClassVar[str] = "normcore.models.skip_thoughts:SkipThoughts"
    places: ClassVar[frozenset[Place]] = GRU.places
    usual: ClassVar[tuple[Place, ...]] = GRU.usual

    hidden_size: int = Field(2400, ge=1, le=65_536, description="Length of a sentence's vector.")
    embedding_size: int = Field(620, ge=1, le=65_536, description="Length of a word's vector.")

    @classmethod
    def cell_kind(cls) -> type[RecurrentModel]:
        return GRU

    @property
    def recurrent(self) -> GRU:
        return GRU(hidden_size=self.hidden_size, recurrent_init="orthogonal_blocks", first_state="zeros")

    def cost(self, words: int, steps: int) -> Cost:
        """Compute the cost of one example: three sentences of ``steps`` steps each.

        Args:
            words: number of words in the vocabulary.
        """
        reader = self.recurrent.cost(self.embedding_size, steps)
        assert reader is not None
        readout = self.hidden_size * words
        return Cost(
            NETWORKS * reader.parameters + words * (self.embedding_size + 1) + readout,
            NETWORKS * reader.products + 2 * steps * readout,
            NETWORKS * reader.kept + 2 * steps * words,
        )
