r"""Batch renormalization.

$$N(a) = \gamma \odot \left( \frac{a - \mu_B}{\sigma_B} \, r + d \right) + \beta$$

$$r = \mathrm{clip} \left( \frac{\sigma_B}{\sigma} \right)$$

$$d = \mathrm{clip} \left( \frac{\mu_B - \mu}{\sigma} \right)$$

B marks the minibatch; the other statistics are running averages. No gradient goes through r and d.
"""

from typing import ClassVar, Literal

from pydantic import Field, NonNegativeFloat

from normcore.spec.methods.method import LayerMethod
from normcore.spec.models.model import Model


class BatchRenorm(LayerMethod):
    """Normalize with the running statistics in training, too, as in evaluation, unless the corrections r and d reach
    their clipping limits.

    Choose it in place of batch norm if batches are small, or if their examples resemble each other.
    """

    title: ClassVar[str] = "Batch renormalization"
    citation: ClassVar[str] = "Ioffe 2017, arXiv:1702.03275, Algorithm 1"

    method: Literal["batch_renorm"] = "batch_renorm"
    r_max: float = Field(3.0, ge=1, description="Largest ratio of the two standard deviations (the paper's final 3).")
    d_max: NonNegativeFloat = Field(5.0, description="Largest distance of the two means (the paper's final 5).")
    momentum: float = Field(0.01, gt=0, le=1, description="Weight of the newest minibatch (the paper: 0.01).")

    def needs_batch(self, model: Model) -> bool:
        return bool(self.sites)
