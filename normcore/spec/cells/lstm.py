r"""Long short-term memory.

$$(i, f, g, o) = N_h(W_h h_{t-1}) + N_x(W_x x_t) + b$$

$$c_t = \sigma(f) \odot c_{t-1} + \sigma(i) \odot \tanh(g) \qquad h_t = \sigma(o) \odot \tanh(N_c(c_t))$$
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import each_once


class LSTM(RecurrentModel):
    """Long short-term memory with the gates i, f, g, o."""

    places: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent", "sum", "cell"})
    usual: ClassVar[tuple[Place, ...]] = ("input", "recurrent", "cell")  # LN Eq. 20-22, RBN Eq. 14-16
    gates: ClassVar[int | None] = 4

    cell: Literal["lstm"] = "lstm"
    forget_bias: float = Field(1.0, description="Initial bias of the forget gate (the RBN authors' code: 1).")
    identity_gates: Annotated[tuple[Literal["i", "f", "g", "o"], ...], each_once("gate", "ifgo".index)] = Field(
        ("g",),
        strict=False,
        max_length=4,
        description="Gates whose recurrent weights start as the identity (the RBN authors' code on pixels: g, the"
        " candidate).",
    )
    first_cell: Literal["trained", "zeros"] = Field(
        "trained", description="First value of c: numbers that start at 0 and are trained, or always 0."
    )
    cell_bias: bool = Field(
        True,
        description="Without a norm at the cell: whether a trained bias is added to c where it is read out (the RBN"
        " authors' code). A norm has its shift instead.",
    )

    @property
    def kept_of_step(self) -> int:
        return super().kept_of_step + 1  # c

    @property
    def own_parameters(self) -> int:
        return super().own_parameters + (self.first_cell == "trained") + self.cell_bias
