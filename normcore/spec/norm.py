"""The methods one can ask for: one class each, its tag names the file in ``normcore/norms/``."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, NonNegativeFloat, PositiveFloat

from normcore.spec.part import Part

Site = Literal["input", "recurrent", "cell"]
SITES_OF_CELL: Mapping[str, tuple[Site, ...]] = {
    "rnn": ("input", "recurrent"),
    "lstm": ("input", "recurrent", "cell"),
    "gru": ("input", "recurrent"),
}


class Method(Part):
    """A normalization: its options, and what the catalogue says of it."""

    title: ClassVar[str]
    citation: ClassVar[str]
    min_batch_size: ClassVar[int] = 1

    method: str

    @classmethod
    def defaults(cls, cell: str) -> dict[str, Any]:
        """Options whose default depends on the cell; ``cell`` is ``rnn``, ``lstm`` or ``gru``."""
        return {}


class NoNorm(Method):
    """The baseline: summed inputs are used as they are."""

    title: ClassVar[str] = "No normalization"
    citation: ClassVar[str] = "Hochreiter and Schmidhuber 1997, Neural Computation 9(8)"

    method: Literal["none"] = "none"


class LayerNorm(Method):
    """Standardize the summed inputs of one case over the features; the same in training and in use."""

    title: ClassVar[str] = "Layer normalization"
    citation: ClassVar[str] = "Ba, Kiros, Hinton 2016, arXiv:1607.06450, Eq. 4, 20-22, 26-28"

    method: Literal["layer_norm"] = "layer_norm"
    gain_init: float = Field(1.0, description="Initial gain at every site (LN, appendix: alpha = 1).")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root (the authors' Theano code).")
    bias: Literal["outside", "inside", "both"] = Field(
        "outside",
        description="Where the cell's bias b enters: outside the norms (LN Eq. 4, 20), inside the input's norm"
        " (the authors' GRU), or in both places (their reader). A scalar input needs it inside:"
        " LN(w x) does not depend on |x|.",
    )

    @classmethod
    def defaults(cls, cell: str) -> dict[str, Any]:
        return {"bias": "inside" if cell == "gru" else "outside"}


class RecurrentBatchNorm(Method):
    """Standardize each feature over the batch, with statistics of its own for every time step."""

    title: ClassVar[str] = "Recurrent batch normalization"
    citation: ClassVar[str] = "Cooijmans et al. 2017, arXiv:1603.09025, Eq. 14-16"
    min_batch_size: ClassVar[int] = 2

    method: Literal["recurrent_batch_norm"] = "recurrent_batch_norm"
    gain_init: float = Field(0.1, description="Initial gain at every site (RBN section 4: 0.1 lets gradients pass).")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")
    sites: tuple[Site, ...] = Field(
        ("input", "recurrent", "cell"),
        strict=False,
        description="Which summed inputs are normalized; only the LSTM has a cell to read out.",
    )
    statistics: Literal["per_step", "shared"] = Field(
        "per_step", description="Population statistics for each step (RBN section 3), or one average over the steps."
    )
    initial_state_noise: NonNegativeFloat = Field(
        0.0, description="Standard deviation of the noise added to h0; RBN section 5.1 uses 0.1 on in-order pixels."
    )

    @classmethod
    def defaults(cls, cell: str) -> dict[str, Any]:
        return {"sites": SITES_OF_CELL.get(cell, ())}


METHODS: dict[str, type[Method]] = {
    "none": NoNorm,
    "layer_norm": LayerNorm,
    "recurrent_batch_norm": RecurrentBatchNorm,
}
Norm = Annotated[NoNorm | LayerNorm | RecurrentBatchNorm, Discriminator("method")]
