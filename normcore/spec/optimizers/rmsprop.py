"""RMSProp."""

from typing import Literal

from pydantic import Field

from normcore.spec.optimizers.optimizer import Optimizer


class RMSProp(Optimizer):
    """RMSProp as in the library Blocks, which trained RBN's pixel tasks. The step is lr g / max(sqrt(v), 1e-5)."""

    name: Literal["rmsprop"] = "rmsprop"
    decay: float = Field(0.9, ge=0, lt=1, description="Weight of the old squared gradient.")
    momentum: float = Field(0.0, ge=0, lt=1, description="Heavy-ball momentum on the scaled step.")

    @property
    def kept(self) -> int:
        return 2 if self.momentum else 1
