"""Recurrent networks: the sizes and the initialization, which are options of every cell."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import Field

from normcore.spec.models.model import Cost, Model
from normcore.spec.part import Misfit


class RecurrentModel(Model):
    """Options of a recurrent network: layers of one kind of cell. Each subclass is a cell; see ``normcore.spec.cells``.

    Attributes:
        gates: number of summed inputs for each unit; None if the cost of the cell is not known.
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
            description="Initial recurrent weights. orthogonal: one orthogonal matrix over all gates. identity: the"
            " identity in some blocks, orthogonal in the others. uniform: as torch.nn, all weights and each of torch's"
            " two biases (here their sum) uniform in +-1 / sqrt(hidden_size); an LSTM adds forget_bias."
            " orthogonal_blocks: each gate's block orthogonal by itself, the input's weights uniform in +-0.1"
            " (skip-thoughts). scaled_blocks: blocks of input's and recurrent weights 0.05 times orthogonal if square,"
            " else uniform in +-sqrt(6 / (rows + columns + 1)) (the RBN authors' reader). normal: all weights normal"
            " with standard deviation 0.01.",
        )
    )
    first_state: Literal["trained", "zeros"] = Field(
        "trained", description="First value of h: numbers that start at 0 and are trained, or always 0."
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

    def pointless(self, norm: Any) -> Misfit | None:
        gates = self.model_dump(include={"identity_gates"}, exclude_defaults=True).get("identity_gates")
        if gates is None or (gates and self.recurrent_init == "identity"):
            return None
        wrong = 'it changes nothing; write "recurrent_init": "identity" beside it, or remove it'
        if self.recurrent_init == "identity":
            wrong = 'no gate starts as the identity; write "recurrent_init": "orthogonal" and remove identity_gates'
        return Misfit("identity_gates", wrong)

    @property
    def own_parameters(self) -> int:
        """Number of trained parameters for each unit besides those of the gates, such as the unit's first state."""
        return int(self.first_state == "trained")

    @property
    def kept_of_step(self) -> int:
        """Least count of numbers that a step keeps for the backward pass, for each unit: as in the CPU's fused kernels,
        which keep the fewest. The summed inputs of a single gate follow from the output, so they are not kept."""
        return 1 + (self.gates if self.gates and self.gates > 1 else 0)

    def cost(self, inputs: int, steps: int) -> Cost | None:
        """Compute the cost of reading ``steps`` inputs of ``inputs`` numbers each, without a readout; None if the cost
        of the cell is not known."""
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
        """Compute the cost of the layers and of a linear readout with ``outputs`` outputs at ``read`` of the steps;
        None if the cost of the cell is not known."""
        own = self.cost(inputs, steps)
        size = self.hidden_size * (2 if self.bidirectional else 1)
        return own and Cost(
            own.parameters + (size + 1) * outputs, own.products + read * size * outputs, own.kept + read * outputs
        )
