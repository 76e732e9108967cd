"""The two terms of a variational bound: Gregor et al. 2015, arXiv:1502.04623, Eq. 9-11, as in LN section 6.4.

Shapes: B examples, D latent numbers or pixels. All values are in nats.
"""

from torch import Tensor
from torch.nn import functional


def kl_to_standard_normal(mean: Tensor, log_std: Tensor) -> Tensor:
    """KL[N(mean, std^2) || N(0, 1)], summed over the latent numbers: (B, D), (B, D) -> (B).

    The argument is log std, so that a standard deviation too small for a float does not give infinity.
    """
    return 0.5 * (mean.square() + (2 * log_std).exp() - 2 * log_std - 1).sum(-1)


def bernoulli_cross_entropy(logits: Tensor, x: Tensor) -> Tensor:
    """-log P(x) of pixels x in {0, 1}, summed over the pixels: (B, D), (B, D) -> (B)."""
    return functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
