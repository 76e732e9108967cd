r"""Group normalization.

$$N(a) = \gamma \odot \frac{a - \mu_G}{\sqrt{\sigma_G^2 + \epsilon}} + \beta$$

Mean and variance are those of one group G of channels of one image.
"""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.methods.method import LayerMethod
from normcore.spec.models.model import Model, Place
from normcore.spec.part import Misfit


class GroupNorm(LayerMethod):
    """Standardize each group of channels of each example, over all positions.

    Choose it for convolutional networks with small batches.
    """

    title: ClassVar[str] = "Group normalization"
    citation: ClassVar[str] = "Wu, He 2018, arXiv:1803.08494, Eq. 7"
    takes: ClassVar[frozenset[Place]] = frozenset({"layer"})
    beside_sites: ClassVar[frozenset[str]] = frozenset({"groups"})  # profiles choose it

    method: Literal["group_norm"] = "group_norm"
    groups: int = Field(32, ge=1, le=4096, description="Number of groups of channels (the paper: 32).")

    def misfit(self, model: Model) -> Misfit | None:
        for channels in model.channels:
            if channels % self.groups:
                return Misfit("groups", f"{channels} channels make no {self.groups} equal groups; use a divisor")
        return super().misfit(model)

    def erases(self, channels: int) -> bool:
        return channels == self.groups
