"""How a model is trained: optimizer, budget, clipping, precision, kernel."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, PositiveFloat

from normcore.spec.part import Part

MAX_STEPS = 1_000_000_000


class RMSProp(Part):
    """The RMSProp of Blocks, which trained RBN's pixel tasks: lr g / max(sqrt(v), 1e-5)."""

    name: Literal["rmsprop"] = "rmsprop"
    lr: PositiveFloat = 1e-3
    decay: float = Field(0.9, ge=0, lt=1, description="Weight of the old squared gradient.")
    momentum: float = Field(0.0, ge=0, lt=1, description="Heavy-ball momentum on the scaled step.")


class Moments(Part):
    """Options of optimizers with running averages of the gradient and of its square."""

    lr: PositiveFloat = 1e-3
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.999, ge=0, lt=1)
    eps: PositiveFloat = 1e-8


class Adam(Moments):
    """Kingma and Ba 2015, with both bias corrections."""

    name: Literal["adam"] = "adam"


class TorontoAdam(Moments):
    """Adam as order-embedding and skip-thoughts have it, whose bias corrections hardly correct."""

    name: Literal["toronto_adam"] = "toronto_adam"


OPTIMIZERS: dict[str, type[Part]] = {"rmsprop": RMSProp, "adam": Adam, "toronto_adam": TorontoAdam}
Optimizer = Annotated[RMSProp | Adam | TorontoAdam, Discriminator("name")]


class Training(Part):
    """One training run's budget and rules."""

    optimizer: Optimizer
    batch_size: int = Field(ge=1, le=1_000_000)
    max_steps: int = Field(ge=1, le=MAX_STEPS, description="Updates in all.")
    clip_norm: PositiveFloat | None = Field(description="Largest global gradient norm; null clips nothing.")
    eval_every: int = Field(ge=1, le=MAX_STEPS, description="Updates between two evaluations on validation data.")
    target: float | None = Field(
        description="Validation level of the task's metric whose first passing is timed; training goes on after it."
    )
    precision: Literal["float32", "float64", "bfloat16"] = Field(
        "float32",
        description="bfloat16 is mixed: products of matrices in it, by autocast; weights, statistics and losses stay"
        " float32.",
    )
    kernel: Literal["auto", "reference", "fused"] = "auto"
