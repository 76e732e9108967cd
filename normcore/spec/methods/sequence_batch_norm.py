r"""Sequence-wise batch normalization.

$$N(W_x x_t) = \gamma \odot \frac{W_x x_t - \mathrm{E}[W_x x]}{\sqrt{\mathrm{Var}[W_x x] + \epsilon}}$$

Mean and variance are those of one feature over the minibatch and all time steps.
"""

from typing import ClassVar, Literal

from pydantic import Field, PositiveFloat

from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model, Place
from normcore.spec.part import Misfit


class SequenceBatchNorm(Method):
    """Standardize each feature of the input's term over batch and time; the recurrent term stays as it is.

    Choose it if whole sequences are known before their first step. It leaves the recurrent term alone, so the loop over
    time computes what it does without a norm.
    """

    title: ClassVar[str] = "Sequence-wise batch normalization"
    citation: ClassVar[str] = "Laurent et al. 2015, arXiv:1510.01378; Amodei et al. 2015, arXiv:1512.02595"
    takes: ClassVar[frozenset[Place]] = frozenset({"input", "layer"})

    method: Literal["sequence_batch_norm"] = "sequence_batch_norm"
    gain_init: float = Field(1.0, description="Initial gain.")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")

    @classmethod
    def fits(cls, model: type[Model]) -> bool:
        return super().fits(model) and not model.feeds_back

    @property
    def whole_sequences(self) -> bool:
        return True

    def needs_batch(self, model: Model) -> bool:
        return not model.recurrent

    def misfit(self, model: Model) -> Misfit | None:
        if model.feeds_back:
            return Misfit(
                "method", f"it takes whole sequences, and {model.label} makes its inputs as it goes; use another"
            )
        return super().misfit(model)
