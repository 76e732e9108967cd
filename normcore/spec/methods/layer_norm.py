r"""Layer normalization.

$$\mu = \frac{1}{H} \sum_{i=1}^{H} a_i \qquad \sigma^2 = \frac{1}{H} \sum_{i=1}^{H} (a_i - \mu)^2 \qquad
N(a) = \gamma \odot \frac{a - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta$$

H is the number of features of one example that are standardized together.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from normcore.spec.cells.gru import GRU
from normcore.spec.methods.method import SINGLE, SiteMethod
from normcore.spec.models.attentive_reader import AttentiveReaderModel
from normcore.spec.models.model import Model, Place
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import Misfit

OF_CELLS = frozenset({"scope", "bias", "bias_init"})
OF_GATES: frozenset[Place] = frozenset({"input", "recurrent", "sum"})


class LayerNorm(SiteMethod):
    """Standardize the summed inputs of each example over the features, in the same way in training and in use.

    Choose it for recurrent networks with batches of any size, also of one example. It computes the same in training and
    in use.
    """

    title: ClassVar[str] = "Layer normalization"
    beside_sites: ClassVar[frozenset[str]] = frozenset({"bias", "bias_init"})
    citation: ClassVar[str] = "Ba, Kiros, Hinton 2016, arXiv:1607.06450, Eq. 4, 20-22, 26-28"

    method: Literal["layer_norm"] = "layer_norm"
    gain_init: float = Field(1.0, description="Initial gain at every site (LN section 6: 1; its appendix prints 0).")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root (the authors' Theano code).")
    affine: bool = Field(True, description="Gain and shift; without them it is the simple LN of Xu et al. 2019.")
    scope: Literal["joint", "per_gate"] = Field(
        "joint",
        description="Statistics over all gates that the paper takes together, or over each gate by itself, as in"
        " TensorFlow's LayerNormBasicLSTMCell.",
    )
    conv_gain: Literal["per_unit", "per_channel"] = Field(
        "per_unit", description="In convolutional layers: a gain and a shift for each unit, or for each channel."
    )
    bias: Literal["outside", "inside", "both"] = Field(
        "outside",
        description="Where the cell's bias b enters: outside the norms (LN Eq. 4, 20), inside the input's norm"
        " (the authors' GRU), or in both places (their reader). If the input x is one number, the network sees"
        " its size only with inside or both: LN(w x) does not depend on |x|.",
    )
    bias_init: NonNegativeFloat = Field(
        0.0,
        description="Half the width of uniform random numbers that are added to the cell's first bias. Without them,"
        " units that start alike stay alike while an input is blank, and LN multiplies gradients by 1 / sqrt(eps) at"
        " every step.",
    )

    @classmethod
    def defaults(cls, model: type[Model]) -> dict[str, Any]:
        cell = model.cell_kind()
        bias = "both" if issubclass(model, AttentiveReaderModel) else "outside"
        return {**super().defaults(model), "bias": "inside" if cell and issubclass(cell, GRU) else bias}

    def idle(self, model: Model) -> frozenset[str]:
        idle = set(super().idle(model))
        if not self.affine:
            idle.add("gain_init")
        if not (model.has_images and self.affine and "layer" in self.sites):
            idle.add("conv_gain")
        return frozenset(idle | (self._idle_in_cells(model.recurrent) if model.recurrent else OF_CELLS))

    def _idle_in_cells(self, model: RecurrentModel) -> set[str]:
        idle = set()
        if model.gates == 1 or not OF_GATES & set(self.sites):
            idle.add("scope")
        if not {"input", "sum"} & set(self.sites) and self.bias != "both":  # "both" adds the bias at two places
            idle.add("bias")
        return idle

    def erases(self, channels: int) -> bool:
        return channels == 1

    def pointless(self, model: Model) -> Misfit | None:
        cells = model.recurrent
        if cells and cells.hidden_size == 1 and self._takes_single_units(cells):
            return Misfit("method", SINGLE.format(model.label))
        return super().pointless(model)

    def _takes_single_units(self, model: RecurrentModel) -> bool:
        """Tell if the method would standardize the single unit of a cell by itself."""
        by_gate = self.scope == "per_gate" or model.gates == 1 or isinstance(model, GRU)  # GRU: its candidate
        return "cell" in self.sites or (by_gate and bool(OF_GATES & set(self.sites)))
