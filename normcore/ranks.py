"""Order statistics: a confidence interval of the median, from sorted samples."""


def rank_below_median(n: int, level: float) -> int:
    """Find the rank k of a confidence interval of the median of ``n`` independent samples. The interval goes from the
    k-th smallest to the k-th largest sample, and is valid for every distribution.

    The k-th smallest sample is above the median if fewer than k samples fall below the median; their number is binomial
    with p = 1/2. The same holds for the k-th largest sample. k is the largest rank at which each of these two events
    has a probability of at most (1 - level) / 2. k is 0 if even the whole range does not reach the level.
    """
    ways = at_most_k = 1  # of the 2**n outcomes: those with exactly k, and with at most k, below the median
    for k in range(n):
        if at_most_k / 2**n >= (1 - level) / 2:
            return k
        ways = ways * (n - k) // (k + 1)
        at_most_k += ways
    return n
