"""DRAW: a recurrent network that looks at an image and paints it, step by step."""

from typing import ClassVar

from pydantic import Field

from normcore.spec.cells.lstm import LSTM
from normcore.spec.models.model import Cost, Model, Place
from normcore.spec.models.recurrent import RecurrentModel

ATTENTION = 5  # numbers that place a grid of filters: two for the centre, the width, the stride, the strength


class DrawModel(Model):
    """Network with selective attention: one LSTM encodes the image, one LSTM decodes it. All weights start normal with
    a standard deviation of 0.01, biases and states start at 0."""

    architecture: ClassVar[str] = "draw"
    home: ClassVar[str] = "normcore.models.draw:Draw"
    places: ClassVar[frozenset[Place]] = LSTM.places
    usual: ClassVar[tuple[Place, ...]] = ("cell",)  # LN Eq. 29-31
    feeds_back: ClassVar[bool] = True
    adds_state_noise: ClassVar[bool] = False  # the model steps both cells by itself

    hidden_size: int = Field(256, ge=1, le=65_536, description="Units of the encoder, and of the decoder.")
    latent_size: int = Field(100, ge=1, le=65_536, description="Number of latent variables of a glimpse.")
    glimpses: int = Field(64, ge=1, le=1024, description="Number of steps; each step looks once and paints once.")
    read_size: int = Field(2, ge=1, le=256, description="Rows and columns of the patch that is read.")
    write_size: int = Field(5, ge=1, le=256, description="Rows and columns of the patch that is painted.")

    @classmethod
    def cell_kind(cls) -> type[RecurrentModel]:
        return LSTM

    @property
    def recurrent(self) -> LSTM:
        return LSTM(
            hidden_size=self.hidden_size,
            recurrent_init="normal",
            forget_bias=0.0,
            first_state="zeros",
            first_cell="zeros",
            cell_bias=False,
        )

    @property
    def encoder_inputs(self) -> int:
        """Size of the encoder's input at a step: two patches of the image, and the decoder's previous state."""
        return 2 * self.read_size**2 + self.hidden_size

    def cost(self, side: int) -> Cost:
        """Cost of encoding and painting an image of ``side`` x ``side`` pixels."""
        cells = self.recurrent
        encoder, decoder = cells.cost(self.encoder_inputs, self.glimpses), cells.cost(self.latent_size, self.glimpses)
        assert encoder is not None
        assert decoder is not None
        outputs = 2 * self.latent_size + 2 * ATTENTION + self.write_size**2
        read, write = self.read_size, self.write_size
        filters = 2 * (read * side * side + read * read * side) + write * write * side + write * side * side
        return Cost(
            encoder.parameters + decoder.parameters + (self.hidden_size + 1) * outputs,
            encoder.products + decoder.products + self.glimpses * (self.hidden_size * outputs + filters),
            encoder.kept + decoder.kept + self.glimpses * side * side,  # a canvas at each glimpse
        )
