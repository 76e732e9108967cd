"""Adam as implemented in the code of LN's models."""

import math

from torch import Tensor

from normcore.training.optimizers.adam import Adam


class TorontoAdam(Adam):
    """Adam as implemented in the public code of order-embedding and skip-thoughts. LN's models were trained with it.

    p = p - lr_t m / (sqrt(v) + eps), with lr_t = lr sqrt(1 - (1 - beta2)^t) / (1 - (1 - beta1)^t). Kingma and Ba 2015
    have beta^t instead of (1 - beta)^t. So here only the first steps are corrected, and they are larger: 3.5 lr at
    t = 1, 6.5 lr at t = 10, 3.2 lr at t = 100, 1.26 lr at t = 1000.
    """

    def _correct_bias(self, rms: list[Tensor], t: int, lr: float, beta1: float, beta2: float) -> float:
        return lr * math.sqrt(1 - (1 - beta2) ** t) / (1 - (1 - beta1) ** t)
