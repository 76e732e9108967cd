r"""Instance normalization.

$$N(a) = \gamma \odot \frac{a - \mu_C}{\sqrt{\sigma_C^2 + \epsilon}} + \beta$$

Mean and variance are those of one channel C of one image.
"""

from typing import ClassVar, Literal

from normcore.spec.methods.method import LayerMethod
from normcore.spec.models.model import Model, Place
from normcore.spec.part import Misfit


class InstanceNorm(LayerMethod):
    """Standardize each channel of each example by itself, over all positions.

    Choose it for images whose contrast should not matter.
    """

    title: ClassVar[str] = "Instance normalization"
    citation: ClassVar[str] = "Ulyanov, Vedaldi, Lempitsky 2016, arXiv:1607.08022"
    takes: ClassVar[frozenset[Place]] = frozenset({"layer"})

    method: Literal["instance_norm"] = "instance_norm"

    @classmethod
    def fits(cls, model: type[Model]) -> bool:
        return super().fits(model) and model.has_images

    def misfit(self, model: Model) -> Misfit | None:
        if super().fits(type(model)) and not model.has_images:
            message = (
                f"{self.method} needs channels of more than one place, and {model.label} has units; use group_norm"
            )
            return Misfit("method", message)
        return super().misfit(model)

    def erases(self, channels: int) -> bool:
        return True
