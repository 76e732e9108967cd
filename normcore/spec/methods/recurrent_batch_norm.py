r"""Recurrent batch normalization.

$$N(a_t) = \gamma \odot \frac{a_t - \mathrm{E}[a_t]}{\sqrt{\mathrm{Var}[a_t] + \epsilon}} + \beta$$

Mean and variance are those of one feature over the minibatch, at each time step t by itself.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from normcore.spec.methods.method import SiteMethod
from normcore.spec.models.model import Model
from normcore.spec.part import Misfit, contradiction


class RecurrentBatchNorm(SiteMethod):
    """Standardize each feature over the batch, with separate statistics for every time step.

    Choose it if batches have dozens of examples and sequences are about equally long. It needs a small initial gain,
    and evaluation needs statistics of the training data.
    """

    title: ClassVar[str] = "Recurrent batch normalization"
    beside_sites: ClassVar[frozenset[str]] = frozenset({"initial_state_noise"})
    citation: ClassVar[str] = "Cooijmans et al. 2017, arXiv:1603.09025, Eq. 14-16"

    method: Literal["recurrent_batch_norm"] = "recurrent_batch_norm"
    gain_init: float = Field(0.1, description="Initial gain at every site (RBN sections 4 and 5: 0.1).")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")
    carry: Literal["raw", "normalized"] = Field(
        "raw",
        description="Cell that an LSTM carries to the next step: c, or the normalized c (an ablation in the RBN code).",
    )
    statistics: Literal["per_step", "shared"] = Field(
        "per_step", description="Population statistics for each step (RBN section 3), or one average over the steps."
    )
    input_statistics: Literal["per_step", "sequence"] = Field(
        "per_step",
        description="Statistics of the input's term: for each step, or over all steps that are not padding, with eps"
        " 1e-6 (BN-e* of RBN section 5.4).",
    )
    population: Literal["pass", "running"] = Field(
        "pass",
        description="Population statistics from one more pass over the training data (what RBN reports), or running"
        " averages of the minibatches' (what its code monitors).",
    )
    momentum: float = Field(
        0.1, gt=0, le=1, description="Weight of the newest minibatch in running averages (RBN's code: 0.01, 0.05)."
    )
    initial_state_noise: NonNegativeFloat = Field(
        0.0,
        description="Standard deviation of the noise added to h0 (RBN section 5.1: in-order pixels; 0.1 in its code).",
    )

    def idle(self, model: Model) -> frozenset[str]:
        idle = set(super().idle(model))
        if not model.recurrent:
            idle |= {"statistics", "initial_state_noise", "population", "momentum"}
        if not model.adds_state_noise:
            idle.add("initial_state_noise")
        if not model.recurrent or "input" not in self.sites:
            idle.add("input_statistics")
        if self.stands_at("layer") or self.stands_at("output"):
            idle |= {"population", "momentum"}  # such a norm always needs a pass, which takes the statistics of all
        if self.population == "pass":
            idle.add("momentum")
        return frozenset(idle)

    @property
    def whole_sequences(self) -> bool:
        return self.input_statistics == "sequence" and "input" in self.sites

    def needs_batch(self, model: Model) -> bool:
        return bool(self.sites)

    def misfit(self, model: Model) -> Misfit | None:
        if self.whole_sequences and model.feeds_back:
            return Misfit(
                "input_statistics",
                f"sequence needs whole sequences, and {model.label} makes its inputs as it goes; use per_step",
            )
        return super().misfit(model)

    @model_validator(mode="after")
    def what_is_carried_is_there(self) -> Self:
        if self.carry == "normalized" and "cell" not in self.sites:
            raise contradiction("normalized needs the site cell, which only an LSTM has; use raw, or add it", "carry")
        return self
