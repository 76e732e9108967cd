"""The gated recurrent unit."""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel


class GRU(RecurrentModel):
    """Gated recurrent unit, gates r, z, n; z keeps the old state and the reset follows the product."""

    places: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent"})
    usual: ClassVar[tuple[Place, ...]] = ("input", "recurrent")  # LN Eq. 26-28
    gates: ClassVar[int | None] = 3

    cell: Literal["gru"] = "gru"
    identity_gates: tuple[Literal["r", "z", "n"], ...] = Field(
        ("n",), strict=False, description="Blocks with the identity; n is the candidate."
    )
