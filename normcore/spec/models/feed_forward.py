"""Feed-forward networks."""

from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field

from normcore.spec.models.model import Cost, Model, Place


class FeedForward(Model):
    """Network of fully connected layers with ReLU and He initialization. The output layer is linear."""

    architecture: ClassVar[str] = "feed_forward"
    places: ClassVar[frozenset[Place]] = frozenset({"layer", "output"})
    usual: ClassVar[tuple[Place, ...]] = ("layer",)

    hidden_sizes: tuple[Annotated[int, Field(ge=1, le=65_536)], ...] = Field(
        (1000, 1000), strict=False, min_length=1, max_length=64, description="Units of each hidden layer."
    )

    def cost(self, inputs: int, outputs: int) -> Cost:
        """Compute the cost of classifying a vector of ``inputs`` numbers into ``outputs`` classes."""
        sizes = (inputs, *self.hidden_sizes, outputs)
        products = sum(before * after for before, after in pairwise(sizes))
        return Cost(products + sum(sizes[1:]), products, sum(sizes))

    @property
    def channels(self) -> tuple[int, ...]:
        return self.hidden_sizes
