"""Training: optimizer, schedule, budget, clipping, precision, kernel."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from normcore.spec.optimizers import OPTIMIZERS, Optimizer
from normcore.spec.optimizers.toronto_adam import TorontoAdam
from normcore.spec.part import Misfit, Part

MAX_STEPS = 1_000_000_000


class LinearDecay(Part):
    """Schedule of the learning rate: constant at first, then a linear fall that reaches 0 just after the last update
    (Salimans and Kingma 2016, on CIFAR-10)."""

    name: Literal["linear_decay"] = "linear_decay"
    start: int = Field(ge=0, le=MAX_STEPS, description="Updates before the learning rate begins to fall.")
    beta1: float | None = Field(None, ge=0, lt=1, description="Adam's beta1 from this update on; null keeps it.")


class Training(Part):
    """Budget and rules of a training."""

    optimizer: Annotated[Optimizer, OPTIMIZERS]
    schedule: LinearDecay | None = Field(None, description="How the learning rate changes; null leaves it as it is.")
    batch_size: int = Field(ge=1, le=1_000_000)
    max_steps: int = Field(ge=1, le=MAX_STEPS, description="Updates in all.")
    clip_norm: PositiveFloat | None = Field(description="Largest gradient norm; null clips nothing.")
    clip: Literal["global", "per_tensor", "global_root"] = Field(
        "global",
        description="global clips the norm of all gradients together, per_tensor the norm of each parameter's gradient."
        " global_root repeats the code of the RBN authors' reader: if the norm exceeds clip_norm squared, all gradients"
        " are multiplied by clip_norm / sqrt(norm).",
    )
    eval_every: int = Field(ge=1, le=MAX_STEPS, description="Updates between two evaluations on validation data.")
    target: float | None = Field(
        description="Level of the task's metric on validation data. The time to reach it is measured; training goes on."
    )
    precision: Literal["float32", "float64", "bfloat16"] = Field(
        "float32",
        description="bfloat16 is mixed precision: autocast multiplies matrices in bfloat16. Weights, statistics, losses"
        " and the CPU's fused kernels stay in float32.",
    )
    kernel: Literal["auto", "reference", "fused"] = Field(
        "auto",
        description="Implementation of the loop over time: reference, fused, or auto, which is fused if the cell, the"
        " method and the machine have fused kernels, else reference. A run says which one was used.",
    )

    def pointless(self) -> Misfit | None:
        """Find an option that changes nothing, or that no run can compute with; None if there is no such option. See
        ``Method.pointless``."""
        if isinstance(self.optimizer, TorontoAdam):
            later = self.schedule.beta1 if self.schedule else None
            if 1 - self.optimizer.beta1 == 1 or (later is not None and 1 - later == 1):
                return Misfit("optimizer", "toronto_adam divides by beta1, which is 0; use 0.1 or more, or use adam")
        if self.clip == "global" or self.clip_norm is not None:
            return None
        return Misfit("clip", "clip_norm is null, so that nothing is clipped; use global, or give a clip_norm")
