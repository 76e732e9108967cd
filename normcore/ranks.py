"""Order statistics: which of some sorted samples bound their median."""

from scipy.special import bdtr


def rank_below_median(n: int, level: float) -> int:
    """Rank k of a confidence interval of the median of ``n`` independent samples: from the k-th least to the k-th
    greatest, whatever their distribution.

    The k-th least is above the median if fewer than k fall below it, whose number is binomial with p = 1/2; likewise
    from above. k is the greatest for which each has at most (1 - level) / 2; 0 if not even the range reaches the level.
    """
    return next(k for k in range(n + 1) if bdtr(k, n, 0.5) >= (1 - level) / 2)
