r"""Root mean square layer normalization.

$$N(a) = \gamma \odot \frac{a}{\sqrt{\frac{1}{H} \sum_{i=1}^{H} a_i^2 + \epsilon}}$$
"""

from typing import ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from normcore.spec.methods.method import SiteMethod
from normcore.spec.models.model import Model


class RMSNorm(SiteMethod):
    """Divide the summed inputs of each example by their root mean square. The mean is not subtracted.

    Choose it in place of layer norm if time is short: it leaves out the mean and the shift. It has no statistics of
    other examples.
    """

    title: ClassVar[str] = "Root mean square layer normalization"
    beside_sites: ClassVar[frozenset[str]] = frozenset({"bias_init"})
    citation: ClassVar[str] = "Zhang, Sennrich 2019, arXiv:1910.07467, Eq. 4"

    method: Literal["rms_norm"] = "rms_norm"
    gain_init: float = Field(1.0, description="Initial gain at every site.")
    eps: PositiveFloat = Field(1e-5, description="Added to the mean square, inside the root; ours, as LN's.")
    bias_init: NonNegativeFloat = Field(
        0.0,
        description="Half the width of uniform random numbers that are added to the cell's first bias. Without them,"
        " units that start alike stay alike while an input is blank, and RMSNorm multiplies gradients by 1 / sqrt(eps)"
        " at every step.",
    )

    def idle(self, model: Model) -> frozenset[str]:
        of_cells = frozenset() if model.recurrent else frozenset({"bias_init"})
        return super().idle(model) | of_cells
