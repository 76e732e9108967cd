r"""The gated recurrent unit.

$$(r, z) = N_h(W_h h_{t-1}) + N_x(W_x x_t) + b$$

$$n = \tanh(N_x(W_{xn} x_t) + b_n + \sigma(r) \odot N_h(W_{hn} h_{t-1})) \qquad
h_t = \sigma(z) \odot h_{t-1} + (1 - \sigma(z)) \odot n$$
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import each_once


class GRU(RecurrentModel):
    """Gated recurrent unit with the gates r, z, n. z keeps the old state; r acts after the product with W_h."""

    places: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent"})
    usual: ClassVar[tuple[Place, ...]] = ("input", "recurrent")  # LN Eq. 26-28
    gates: ClassVar[int | None] = 3

    cell: Literal["gru"] = "gru"
    identity_gates: Annotated[tuple[Literal["r", "z", "n"], ...], each_once("gate", "rzn".index)] = Field(
        ("n",),
        strict=False,
        max_length=3,
        description="Gates whose recurrent weights start as the identity; n is the candidate.",
    )
