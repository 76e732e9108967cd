"""Invariances."""

from typing import ClassVar, Literal

from normcore.spec.analyses.analysis import LN, Analysis, one_size
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.model import Model


class Layer(FeedForward):
    """A single layer. The number of its units follows from its norm, so that every number of groups divides it."""

    @property
    def channels(self) -> tuple[int, ...]:
        return ()


class Invariances(Analysis):
    """Test which changes of weights and data leave the output of a normalized layer unchanged, in float64."""

    title: ClassVar[str] = "Invariances"
    citation: ClassVar[str] = f"{LN}, section 5.1 and Table 1"
    takes_norm: ClassVar[bool] = True
    subject: ClassVar[Model | None] = Layer(hidden_sizes=(8,))
    profiles: ClassVar = one_size("Six changes of a layer of 8 units, 64 cases.")

    name: Literal["invariances"] = "invariances"
