"""Invariances."""

from typing import ClassVar, Literal

from normcore.spec.analyses.analysis import FLOAT64, LN, Analysis, Memory, one_size
from normcore.spec.methods.method import Method
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.model import Model

INPUTS, UNITS, CASES = 5, 8, 64  # units of the layer; for methods with groups, units of each group


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
    subject: ClassVar[Model | None] = Layer(hidden_sizes=(UNITS,))
    profiles: ClassVar = one_size("Six changes of a layer of 8 units, 64 cases.")

    name: Literal["invariances"] = "invariances"

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory:
        """Compute the memory of the layer's weights and their copy, of the cases, and of the original output."""
        units = UNITS * getattr(norm, "groups", 1)
        return Memory(
            weights=2 * FLOAT64 * units * INPUTS,
            backward=FLOAT64 * units * CASES,
            data=FLOAT64 * CASES * INPUTS,
            on_cpu=True,
        )
