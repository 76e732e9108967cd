"""Recurrent networks: sizes and initialization that every cell has."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import Field

from normcore.spec.models.model import Cost, Model


class RecurrentModel(Model):
    """Layers of one kind of cell. A subclass is a cell: see ``normcore.spec.cells``.

    Attributes:
        gates: summed inputs a unit; None if the cost of the cell is not known.
    """

    architecture: ClassVar[str] = "recurrent"
    gates: ClassVar[int | None] = None

    cell: str
    hidden_size: int = Field(100, ge=1, le=65_536)
    num_layers: int = Field(1, ge=1, le=64)
    bidirectional: bool = False
    recurrent_init: Literal["orthogonal", "identity", "uniform", "orthogonal_blocks", "scaled_blocks", "normal"] = (
        Field(
            "orthogonal",
            description="Recurrent weights: one orthogonal matrix over all gates; the identity in some blocks and"
            " orthogonal in the others; or, as torch.nn initializes, all weights and each of torch's two biases (here"
            " their sum) uniform in +-1 / sqrt(hidden_size); an LSTM adds forget_bias. orthogonal_blocks: each gate's"
            " block by itself, and the input's weights uniform in +-0.1 (skip-thoughts); scaled_blocks: blocks of both"
            " weights 0.05 times orthogonal where they are square, else uniform in +-sqrt(6 / (rows + columns + 1))"
            " (the RBN authors' reader); normal: all weights, with standard deviation 0.01.",
        )
    )
    first_state: Literal["trained", "zeros"] = Field(
        "trained", description="What h begins with: numbers that start at 0 and are trained, or 0 for good."
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

    @classmethod
    def cell_kind(cls) -> type["RecurrentModel"]:
        return cls

    @property
    def recurrent(self) -> Self:
        return self

    @property
    def own_parameters(self) -> int:
        """Trained numbers a unit besides those of the gates, such as its first state."""
        return int(self.first_state == "trained")

    @property
    def kept_of_step(self) -> int:
        """Numbers a unit that a step keeps for the backward pass, at least: as the CPU's fused kernels do, which keep
        the fewest. The sums of a cell of one gate follow from its output."""
        return 1 + (self.gates if self.gates and self.gates > 1 else 0)

    def cost(self, inputs: int, steps: int) -> Cost | None:
        """Cost of the layers to read ``steps`` inputs, without a readout."""
        if self.gates is None:
            return None
        directions = 2 if self.bidirectional else 1
        parameters = products = 0
        kept = inputs * steps
        for layer in range(self.num_layers):
            size = self.hidden_size * directions if layer else inputs
            weights = self.gates * self.hidden_size * (size + self.hidden_size)
            parameters += directions * (weights + (self.gates + self.own_parameters) * self.hidden_size)
            products += directions * weights * steps
            kept += directions * self.kept_of_step * self.hidden_size * steps
        return Cost(parameters, products, kept)

    def with_readout(self, inputs: int, steps: int, outputs: int, read: int) -> Cost | None:
        """Cost of the layers and of a linear readout with ``outputs`` outputs, after ``read`` of the steps."""
        own = self.cost(inputs, steps)
        size = self.hidden_size * (2 if self.bidirectional else 1)
        return own and Cost(
            own.parameters + (size + 1) * outputs, own.products + read * size * outputs, own.kept + read * outputs
        )
