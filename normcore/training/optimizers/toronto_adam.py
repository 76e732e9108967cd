"""Adam as the code of LN's models has it."""

import math

from torch import Tensor

from normcore.training.optimizers.adam import Adam


class TorontoAdam(Adam):
    """Adam as the public code of order-embedding and skip-thoughts has it, which trained LN's models.

    p = p - lr_t m / (sqrt(v) + eps), with lr_t = lr sqrt(1 - (1 - beta2)^t) / (1 - (1 - beta1)^t). Kingma and Ba 2015
    have beta^t there, so here nothing but the first steps is corrected, and they are larger: 3.5 lr at t = 1, 6.5 at
    10, 3.2 at 100, 1.26 at 1000.
    """

    def _corrected(self, rms: list[Tensor], t: int, lr: float, beta1: float, beta2: float) -> float:
        return lr * math.sqrt(1 - (1 - beta2) ** t) / (1 - (1 - beta1) ** t)
