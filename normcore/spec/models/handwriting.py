"""A network that writes a given text by hand."""

from typing import ClassVar

from pydantic import Field

from normcore.spec.cells.lstm import LSTM
from normcore.spec.models.model import Cost, Model, Place
from normcore.spec.models.recurrent import RecurrentModel

LAYERS = 3
POINT = 3  # numbers that tell a point: two offsets, and whether it is a stroke's last
OF_GAUSSIAN = 3  # numbers that move one of the window's: its weight, its width, its advance
OF_COMPONENT = 6  # numbers of a component of the mixture: its weight, two means, two deviations, a correlation


class HandwritingModel(Model):
    """Three LSTMs, of which the first one moves a soft window over the text and each reads the point, the window and
    the layer below; a mixture density tells the next point from all three."""

    architecture: ClassVar[str] = "handwriting"
    home: ClassVar[str] = "normcore.models.handwriting:Handwriting"
    places: ClassVar[frozenset[Place]] = LSTM.places
    usual: ClassVar[tuple[Place, ...]] = LSTM.usual
    feeds_back: ClassVar[bool] = True

    hidden_size: int = Field(400, ge=1, le=65_536, description="Units of each of the three layers.")
    gaussians: int = Field(10, ge=1, le=1024, description="Gaussians of the window.")
    advance: float = Field(
        1.0,
        gt=0,
        le=100,
        description="Characters by which the window moves on at a point before anything is learnt; a hand takes some 25"
        " points for a letter.",
    )
    components: int = Field(20, ge=1, le=1024, description="Components of the mixture.")

    @classmethod
    def cell_kind(cls) -> type[RecurrentModel]:
        return LSTM

    @property
    def recurrent(self) -> LSTM:
        return LSTM(hidden_size=self.hidden_size, first_state="zeros", first_cell="zeros", cell_bias=False)

    @property
    def outputs(self) -> int:
        return OF_COMPONENT * self.components + 1

    def cost(self, kinds: int, points: int) -> Cost:
        """Cost of writing ``points`` points of a text with ``kinds`` kinds of characters."""
        hidden = self.hidden_size
        inputs = [POINT + kinds, *(LAYERS - 1) * [POINT + kinds + hidden]]
        layers = [self.recurrent.cost(size, points) for size in inputs]
        read_out = LAYERS * hidden * self.outputs + hidden * OF_GAUSSIAN * self.gaussians
        biases = self.outputs + OF_GAUSSIAN * self.gaussians
        return Cost(
            sum(layer.parameters for layer in layers if layer) + read_out + biases,
            sum(layer.products for layer in layers if layer) + points * read_out,
            sum(layer.kept for layer in layers if layer) + points * self.outputs,
        )
