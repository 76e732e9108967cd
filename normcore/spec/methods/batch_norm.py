r"""Batch normalization.

$$N(a) = \gamma \odot \frac{a - \mathrm{E}[a]}{\sqrt{\mathrm{Var}[a] + \epsilon}} + \beta$$

Mean and variance are those of one feature, or one channel, over the minibatch.
"""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.methods.method import LayerMethod
from normcore.spec.models.model import Model


class BatchNorm(LayerMethod):
    """Standardize each feature or channel over the batch and, in images, over all positions.

    Choose it for feed-forward and convolutional networks with batches of dozens of examples.
    """

    title: ClassVar[str] = "Batch normalization"
    citation: ClassVar[str] = "Ioffe, Szegedy 2015, arXiv:1502.03167, Algorithm 1"

    method: Literal["batch_norm"] = "batch_norm"
    variance: Literal["biased", "unbiased"] = Field(
        "biased", description="Variance that normalizes; LN section 6.6 takes the unbiased variance with a batch of 4."
    )

    def needs_batch(self, model: Model) -> bool:
        return bool(self.sites)
