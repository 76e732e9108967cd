"""Recurrent networks: sizes and initialization that every cell has."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import Field

from normcore.spec.models.model import Model


class RecurrentModel(Model):
    """Layers of one kind of cell. A subclass is a cell: see ``normcore.spec.cells``."""

    architecture: ClassVar[str] = "recurrent"

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

    @classmethod
    def kinds(cls) -> Mapping[str, type[Model]]:
        from normcore.spec.cells import CELLS  # the cells derive from this class

        return CELLS

    @classmethod
    def kind_of(cls, written: Mapping[str, Any]) -> type[Model] | None:
        tag = written.get("cell")
        return cls.kinds().get(tag) if isinstance(tag, str) else None

    @classmethod
    def read(cls, value: Any) -> Self:
        from normcore.spec.cells import CELLS

        return cast(Self, CELLS.validate(value))

    @property
    def label(self) -> str:
        return self.cell
