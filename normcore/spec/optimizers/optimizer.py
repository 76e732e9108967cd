"""Base class of optimizers."""

from pydantic import Field, PositiveFloat

from normcore.spec.part import Part


class Optimizer(Part):
    """Options of an optimizer."""

    name: str
    lr: PositiveFloat = 1e-3

    @property
    def kept(self) -> int:
        """Count of numbers that the optimizer keeps for each parameter; 0 if the count is not known."""
        return 0


class Moments(Optimizer):
    """Options of optimizers with running averages of the gradient and of its square."""

    @property
    def kept(self) -> int:
        return 2

    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.999, ge=0, lt=1)
    eps: PositiveFloat = 1e-8
