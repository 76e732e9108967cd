"""Adam as in the authors' code of two models of the LN paper."""

from typing import Literal

from normcore.spec.optimizers.optimizer import Moments


class TorontoAdam(Moments):
    """Adam as in the code of order-embedding and skip-thoughts. The bias corrections fade within a few steps."""

    name: Literal["toronto_adam"] = "toronto_adam"
