"""Options of the method. The API reads this module; it imports no torch."""

from typing import ClassVar, Literal

from pydantic import Field, PositiveFloat

from normcore.spec.methods.method import SiteMethod


class MeanAbsoluteNorm(SiteMethod):
    """Divide the centred summed inputs of one case by their mean absolute value."""

    title: ClassVar[str] = "Mean absolute normalization"
    citation: ClassVar[str] = "an example of normbench"
    home: ClassVar[str] = "mean_absolute_norm.layers"

    method: Literal["mean_absolute_norm"] = "mean_absolute_norm"
    eps: PositiveFloat = Field(0.1, description="Added to the mean absolute value.")

    def erases(self, channels: int) -> bool:
        return channels == 1
