"""A network that writes a given text by hand."""

from typing import ClassVar

from pydantic import Field

from normcore.spec.cells.lstm import LSTM
from normcore.spec.models.model import Cost, Model, Place
from normcore.spec.models.recurrent import RecurrentModel

LAYERS = 3
POINT = 3  # numbers of a point: two offsets, and whether the point is the last of a stroke
OF_GAUSSIAN = 3  # numbers of a Gaussian of the window: weight, width, advance
OF_COMPONENT = 6  # numbers of a component of the mixture: weight, two means, two standard deviations, correlation


class HandwritingModel(Model):
    """Network of three LSTM layers. The first layer moves a soft window over the text. Each layer reads the present
    point, the window and the layer below. From all three layers a mixture density predicts the next point."""

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
        description="Characters by which the window moves at each point, before training; a person draws some 25"
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
        """Compute the cost of writing ``points`` points of a text, in an alphabet of ``kinds`` kinds of characters."""
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
