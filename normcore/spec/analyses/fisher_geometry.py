"""Fisher geometry."""

from typing import ClassVar, Literal

from normcore.spec.analyses.analysis import FLOAT64, LN, Analysis, Memory, one_size
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model

OUTPUTS, INPUTS, EXAMPLES = 8, 5, 64


class FisherGeometry(Analysis):
    """Test the paper's statements on the geometry of generalized linear models under weight norm, batch norm and layer
    norm.

    Fisher matrices are computed by enumeration in float64 and compared with the paper's equations. A misprinted
    equation is tested as printed and as corrected.
    """

    title: ClassVar[str] = "Fisher geometry"
    citation: ClassVar[str] = f"{LN}, section 5.2"
    profiles: ClassVar = one_size("8 outputs, 5 inputs, 64 examples.")

    name: Literal["fisher_geometry"] = "fisher_geometry"

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory:
        """Compute the memory of the model's weights, biases and gains, and of the examples."""
        return Memory(weights=FLOAT64 * OUTPUTS * (INPUTS + 2), data=FLOAT64 * EXAMPLES * INPUTS, on_cpu=True)
