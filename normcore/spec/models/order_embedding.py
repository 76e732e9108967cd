"""Images and captions in one ordered space."""

from typing import ClassVar

from pydantic import Field

from normcore.spec.cells.gru import GRU
from normcore.spec.models.model import Cost, Model, Place
from normcore.spec.models.recurrent import RecurrentModel


class OrderEmbeddingModel(Model):
    """Network that maps captions and images into one space: a GRU reads a caption, a linear map takes an image's
    features. Word vectors and input weights of the GRU start uniform in +-0.1, recurrent weights orthogonal gate by
    gate."""

    architecture: ClassVar[str] = "order_embedding"
    home: ClassVar[str] = "normcore.models.order_embedding:OrderEmbedding"
    places: ClassVar[frozenset[Place]] = GRU.places
    usual: ClassVar[tuple[Place, ...]] = GRU.usual

    hidden_size: int = Field(1024, ge=1, le=65_536, description="Length of the vector of an image, and of a caption.")
    embedding_size: int = Field(300, ge=1, le=65_536, description="Length of a word's vector.")

    @classmethod
    def cell_kind(cls) -> type[RecurrentModel]:
        return GRU

    @property
    def recurrent(self) -> GRU:
        return GRU(hidden_size=self.hidden_size, recurrent_init="orthogonal_blocks", first_state="zeros")

    def cost(self, words: int, steps: int, features: int) -> Cost:
        """Compute the cost of embedding an image of ``features`` features and a caption of ``steps`` steps.

        Args:
            words: number of words in the vocabulary.
        """
        reader = self.recurrent.cost(self.embedding_size, steps)
        assert reader is not None
        image = features * self.hidden_size
        return Cost(
            reader.parameters + words * self.embedding_size + image + self.hidden_size,
            reader.products + image,
            reader.kept + features,
        )
