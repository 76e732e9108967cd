"""Training: optimizer, schedule, budget, clipping, precision, kernel."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from normcore.spec.optimizers import OPTIMIZERS, Optimizer
from normcore.spec.part import Misfit, Part

MAX_STEPS = 1_000_000_000


class LinearDecay(Part):
    """The learning rate stays, then falls linearly: 0 would follow the last update (Salimans and Kingma 2016, on
    CIFAR-10)."""

    name: Literal["linear_decay"] = "linear_decay"
    start: int = Field(ge=0, le=MAX_STEPS, description="Updates before it begins to fall.")
    beta1: float | None = Field(None, ge=0, lt=1, description="Adam's beta1 from then on; null leaves it.")


class Training(Part):
    """One training run's budget and rules."""

    optimizer: Annotated[Optimizer, OPTIMIZERS]
    schedule: LinearDecay | None = Field(None, description="How the learning rate changes; null leaves it as it is.")
    batch_size: int = Field(ge=1, le=1_000_000)
    max_steps: int = Field(ge=1, le=MAX_STEPS, description="Updates in all.")
    clip_norm: PositiveFloat | None = Field(description="Largest gradient norm; null clips nothing.")
    clip: Literal["global", "per_tensor", "global_root"] = Field(
        "global",
        description="Whose norm is clipped: that of all gradients together, or each parameter's by itself. global_root"
        " repeats the code of the RBN authors' reader: above clip_norm squared, gradients are multiplied by clip_norm /"
        " sqrt(norm).",
    )
    eval_every: int = Field(ge=1, le=MAX_STEPS, description="Updates between two evaluations on validation data.")
    target: float | None = Field(
        description="Validation level of the task's metric whose first passing is timed; training goes on after it."
    )
    precision: Literal["float32", "float64", "bfloat16"] = Field(
        "float32",
        description="bfloat16 is mixed: products of matrices in it, by autocast, except in the CPU's fused kernels,"
        " which stay in float32, as weights, statistics and losses do.",
    )
    kernel: Literal["auto", "reference", "fused"] = Field(
        "auto",
        description="Which loop over time runs: the reference, fused kernels, or the fused ones where the cell, the"
        " method and the machine have them. A run says which it was.",
    )

    def pointless(self) -> Misfit | None:
        """An option that changes nothing; see ``Method.pointless``."""
        if self.clip == "global" or self.clip_norm is not None:
            return None
        return Misfit("clip", "clip_norm is null, so that nothing is clipped; use global, or give a clip_norm")
