"""Adam as the code of LN's models has it."""

from typing import Literal

from normcore.spec.optimizers.optimizer import Moments


class TorontoAdam(Moments):
    """Adam as the code of order-embedding and skip-thoughts has it: its bias corrections fade within a few steps."""

    name: Literal["toronto_adam"] = "toronto_adam"
