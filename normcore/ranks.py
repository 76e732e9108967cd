"""Order statistics: which of some sorted samples bound their median."""


def rank_below_median(n: int, level: float) -> int:
    """Rank k of a confidence interval of the median of ``n`` independent samples: from the k-th least to the k-th
    greatest, whatever their distribution.

    The k-th least is above the median if fewer than k fall below it, whose number is binomial with p = 1/2; likewise
    from above. k is the greatest for which each has at most (1 - level) / 2; 0 if not even the range reaches the level.
    """
    ways = at_most_k = 1  # of the 2**n ways to fall below or above: those with k below, and with at most k
    for k in range(n):
        if at_most_k / 2**n >= (1 - level) / 2:
            return k
        ways = ways * (n - k) // (k + 1)
        at_most_k += ways
    return n
