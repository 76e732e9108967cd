"""Adam as the code of LN's models has it."""

from typing import Literal

from normcore.spec.optimizers.optimizer import Moments


class TorontoAdam(Moments):
    """Adam as order-embedding and skip-thoughts have it, whose bias corrections hardly correct."""

    name: Literal["toronto_adam"] = "toronto_adam"
