"""Sentence vectors from which the sentences around can be told."""

from typing import ClassVar

from pydantic import Field

from normcore.spec.cells.gru import GRU
from normcore.spec.models.model import Cost, Model, Place
from normcore.spec.models.recurrent import RecurrentModel

NETWORKS = 3  # an encoder and two decoders


class SkipThoughtsModel(Model):
    """A GRU that encodes a sentence and two that tell the one before and the one after, with the same words and the
    same readout. Words, readout and the GRUs' input weights start uniform in +-0.1, recurrent ones orthogonal gate by
    gate."""

    architecture: ClassVar[str] = "skip_thoughts"
    home: ClassVar[str] = "normcore.models.skip_thoughts:SkipThoughts"
    places: ClassVar[frozenset[Place]] = GRU.places
    usual: ClassVar[tuple[Place, ...]] = GRU.usual

    hidden_size: int = Field(2400, ge=1, le=65_536, description="Numbers of a sentence.")
    embedding_size: int = Field(620, ge=1, le=65_536, description="Numbers of a word.")

    @classmethod
    def cell_kind(cls) -> type[RecurrentModel]:
        return GRU

    @property
    def recurrent(self) -> GRU:
        return GRU(hidden_size=self.hidden_size, recurrent_init="orthogonal_blocks", first_state="zeros")

    def cost(self, words: int, steps: int) -> Cost:
        """Cost of three sentences of ``steps`` steps each.

        Args:
            words: of the vocabulary.
        """
        reader = self.recurrent.cost(self.embedding_size, steps)
        assert reader is not None
        readout = self.hidden_size * words
        return Cost(
            NETWORKS * reader.parameters + words * (self.embedding_size + 1) + readout,
            NETWORKS * reader.products + 2 * steps * readout,
            NETWORKS * reader.kept + 2 * steps * words,
        )
