"""A network that answers questions on texts."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from normcore.spec.cells.lstm import LSTM
from normcore.spec.models.model import Cost, Model, Place
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import Misfit

MAPS = 6  # linear maps of states: one for the similarity, two for the attention, three for the answer


class AttentiveReaderModel(Model):
    """Network that answers questions: an LSTM reads the text, another LSTM reads the question, the question attends to
    the text, and a softmax over the vocabulary gives the answer. The place ``layer`` is five of the linear maps around
    the attention: all except the map of the similarity."""

    architecture: ClassVar[str] = "attentive_reader"
    home: ClassVar[str] = "normcore.models.attentive_reader:AttentiveReader"
    places: ClassVar[frozenset[Place]] = LSTM.places | {"layer"}
    usual: ClassVar[tuple[Place, ...]] = LSTM.usual

    hidden_size: int = Field(240, ge=1, le=65_536, description="Units of each of the two LSTMs, and of all maps.")
    embedding_size: int = Field(240, ge=1, le=65_536, description="Length of a word's vector.")
    bidirectional: bool = Field(False, description="Whether both LSTMs read backwards, too (RBN's BN-e**).")
    dropout: float = Field(
        0.5,
        ge=0,
        lt=1,
        description="Dropout of the embeddings and of the softmax's input. RBN does not mention it; its authors' code"
        " has it.",
    )
    padding: Literal["zeros", "cyclic"] = Field(
        "zeros",
        description="Padding of a shorter text or question: word 0, or the text repeated (the RBN authors' code for"
        " BN-e*), so that statistics which count the padding see words.",
    )
    readout: Literal["scaled", "normal"] = Field(
        "scaled",
        description="Initial weights of the softmax. scaled: uniform, smaller for more words, as in the authors' code."
        " normal: with a standard deviation of 1.",
    )
    weights: Literal["independent", "repeated"] = Field(
        "independent",
        description="repeated: matrices of the same shape start with equal values, also those of the gates, because the"
        " authors' code sets its seed anew for each.",
    )

    @classmethod
    def cell_kind(cls) -> type[RecurrentModel]:
        return LSTM

    def pointless(self, norm: Any) -> Misfit | None:
        if self.padding == "zeros" or norm.needs_batch(self):
            return None
        return Misfit("padding", f"{norm.method} has no statistics that count the padding; use zeros")

    @property
    def recurrent(self) -> LSTM:
        return LSTM(
            hidden_size=self.hidden_size,
            bidirectional=self.bidirectional,
            recurrent_init="scaled_blocks",
            forget_bias=0.0,
            first_cell="zeros",
            cell_bias=False,
        )

    @property
    def channels(self) -> tuple[int, ...]:
        return (self.hidden_size,)

    @property
    def read_size(self) -> int:
        """Size of the output of an LSTM for each word."""
        return self.hidden_size * (2 if self.bidirectional else 1)

    def cost(self, words: int, passage: int, question: int) -> Cost:
        """Cost of an answer to a question of ``question`` words on a text of ``passage`` words.

        Args:
            words: number of words in the vocabulary.
        """
        reader, asker = (self.recurrent.cost(self.embedding_size, steps) for steps in (passage, question))
        assert reader is not None
        assert asker is not None
        maps, read = self.hidden_size * self.read_size, self.read_size
        of_text = 2 * maps + self.hidden_size + 3 * read  # similarity, attention, its logit; the product, two averages
        of_question = 2 * maps + 3 * maps
        return Cost(
            reader.parameters
            + asker.parameters
            + words * self.embedding_size
            + (MAPS * self.read_size + 3) * self.hidden_size
            + (self.hidden_size + 1) * words,
            reader.products + asker.products + passage * of_text + of_question + words * self.hidden_size,
            reader.kept + asker.kept + passage * (self.hidden_size + self.read_size) + words,
        )
