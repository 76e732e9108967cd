"""The recurrent cells one can ask for: one class each, its tag names the file in ``normcore/cells/``."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field

from normcore.spec.part import Part


class RecurrentModel(Part):
    """Sizes and initialization that every cell has."""

    cell: str
    hidden_size: int = Field(100, ge=1, le=65_536)
    num_layers: int = Field(1, ge=1, le=64)
    bidirectional: bool = False
    recurrent_init: Literal["orthogonal", "identity", "uniform"] = Field(
        "orthogonal",
        description="Recurrent weights: one orthogonal matrix over all gates; the identity in some blocks and"
        " orthogonal in the others; or, as torch.nn initializes, all weights and each of torch's two biases (here their"
        " sum) uniform in +-1 / sqrt(hidden_size); an LSTM adds forget_bias.",
    )


class RNN(RecurrentModel):
    """h' = tanh(W_h h + W_x x + b)."""

    cell: Literal["rnn"] = "rnn"


class LSTM(RecurrentModel):
    """Long short-term memory, gates i, f, g, o."""

    cell: Literal["lstm"] = "lstm"
    forget_bias: float = Field(1.0, description="Initial bias of the forget gate (the RBN authors' code: 1).")
    identity_gates: tuple[Literal["i", "f", "g", "o"], ...] = Field(
        ("g",),
        strict=False,
        description="Blocks with the identity (the RBN authors' code on pixels: g, the candidate).",
    )


class GRU(RecurrentModel):
    """Gated recurrent unit, gates r, z, n; z keeps the old state and the reset follows the product."""

    cell: Literal["gru"] = "gru"
    identity_gates: tuple[Literal["r", "z", "n"], ...] = Field(
        ("n",), strict=False, description="Blocks with the identity; n is the candidate."
    )


CELLS: dict[str, type[RecurrentModel]] = {"rnn": RNN, "lstm": LSTM, "gru": GRU}
Model = Annotated[RNN | LSTM | GRU, Discriminator("cell")]
