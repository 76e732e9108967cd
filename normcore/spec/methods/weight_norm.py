r"""Weight normalization.

$$w = \frac{g}{\lVert v \rVert} \, v$$

w is one row of a matrix of weights; g and v are trained.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field

from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model, Place
from normcore.spec.part import Misfit


class WeightNorm(Method):
    """Write every row of W_x and W_h as g v / |v|, so that its length g and its direction v are trained separately.

    Choose it if no statistics of activations are wanted. Its cost does not depend on the batch.
    """

    title: ClassVar[str] = "Weight normalization"
    citation: ClassVar[str] = "Salimans, Kingma 2016, arXiv:1602.07868, Eq. 2"
    takes: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent", "layer", "output"})

    method: Literal["weight_norm"] = "weight_norm"
    mean_only_batch_norm: bool = Field(
        False, description="Subtract from every summed input its mean over the batch, for each step (section 4)."
    )
    init: Literal["weights", "data"] = Field(
        "weights",
        description="Initial lengths g. weights: the lengths of the initial weights. data: such that the summed inputs"
        " of a first batch have mean 0 and variance 1 (Eq. 5-6), for layers whose inputs are data, not states. The"
        " first batch is up to 1,000 training images, where the authors' code takes 500.",
    )

    @classmethod
    def defaults(cls, model: type[Model]) -> dict[str, Any]:
        return {"init": "weights" if model.cell_kind() else "data"}

    def needs_batch(self, model: Model) -> bool:
        return self.mean_only_batch_norm

    @property
    def initializes_from_data(self) -> bool:
        return self.init == "data"

    def misfit(self, model: Model) -> Misfit | None:
        if self.init == "data" and model.recurrent:
            return Misfit("init", f"the inputs of {model.label} are its own states, not data; use weights")
        return super().misfit(model)
