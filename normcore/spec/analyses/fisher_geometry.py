"""Fisher geometry."""

from typing import ClassVar, Literal

from normcore.spec.analyses.analysis import LN, Analysis, one_size


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
