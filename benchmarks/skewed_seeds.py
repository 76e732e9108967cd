"""Claims of a board where nothing differs and seeds are skewed, under our rule and others.

`python -m benchmarks.skewed_seeds [BOARDS]` prints two tables of made-up boards. The first has the share of boards with
any false boundary: all true means are equal. The second has the share of neighbours that stay tied though they differ.
Rules: `paired` is Student's t of differences seed by seed, `unshared` Welch's t. `both` asks for both. `97%` is the
paired t at 3% instead of 5%. `skewness` asks for Hall's transformation of the paired t as well.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.special import stdtr

from service.statistics.differences import Floats

BOARDS = 40_000
SURE = 0.05
ENTRIES = 4
Draws = Sequence[Floats]  # of each entry, (boards, seeds)


def paired(a: Floats, b: Floats) -> Floats:
    d, n = a - b, a.shape[1]
    return _two_sided(d.mean(1) / (d.std(1, ddof=1) / n**0.5), n - 1)


def unshared(a: Floats, b: Floats) -> Floats:
    n = a.shape[1]
    of_a, of_b = a.var(1, ddof=1) / n, b.var(1, ddof=1) / n
    freedom = (of_a + of_b) ** 2 * (n - 1) / (of_a**2 + of_b**2)
    return _two_sided((a.mean(1) - b.mean(1)) / np.sqrt(of_a + of_b), freedom)


def skewness(a: Floats, b: Floats) -> Floats:
    """Hall 1992: g(t) = t + k t^2 / 3 + k^2 t^3 / 27 + k / (6 n), k the skewness of the differences."""
    d, n = a - b, a.shape[1]
    mean, deviation = d.mean(1), d.std(1)
    k, t = ((d - mean[:, None]) ** 3).mean(1) / deviation**3, mean / deviation
    transformed = (t + k * t**2 / 3 + k**2 * t**3 / 27 + k / (6 * n)) * (n - 1) ** 0.5
    return np.maximum(paired(a, b), _two_sided(transformed, n - 1))


def _two_sided(t: Floats, freedom: Floats | float) -> Floats:
    p: Floats = 2 * stdtr(freedom, -np.abs(t))
    return p


RULES: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "paired": paired,
    "unshared": unshared,
    "both": lambda a, b: np.maximum(paired(a, b), unshared(a, b)),
    "97%": lambda a, b: paired(a, b) * 5 / 3,
    "skewness": skewness,
}


def equal_means(generator: np.random.Generator, boards: int, n: int) -> Mapping[str, Draws]:
    """Boards of four entries, or of eight, whose true means are all 0."""

    def skewed(sigma: float, times: float = 1.0) -> Floats:
        drawn = np.exp(sigma * generator.normal(size=(boards, n)))
        mean = np.exp(sigma**2 / 2)
        centred: Floats = times * (drawn - mean) / (mean * np.sqrt(np.exp(sigma**2) - 1))
        return centred

    return {
        "normal": [generator.normal(size=(boards, n)) for _ in range(ENTRIES)],
        "lognormal .5": [skewed(0.5) for _ in range(ENTRIES)],
        "opposite, lognormal .7": [skewed(0.7, sign) for sign in (1, 1, -1, -1)],
        "the same, 8 entries": [skewed(0.7, sign) for sign in (1, 1, 1, 1, -1, -1, -1, -1)],
        "spreads 1 : 4, lognormal .7": [skewed(0.7, times) for times in (1, 1, 4, 4)],
    }


def apart(generator: np.random.Generator, boards: int, n: int) -> Mapping[str, Draws]:
    """Boards of four entries, each better than the one before by so many standard deviations. ``Correlated`` ones share
    nine tenths of their variance over seeds, and differ by one."""
    common = 0.9**0.5 * generator.normal(size=(boards, n))
    own = [common + 0.1**0.5 * generator.normal(size=(boards, n)) for _ in range(ENTRIES)]
    return {
        **{f"{gap} sd": [generator.normal(size=(boards, n)) + gap * k for k in range(ENTRIES)] for gap in (2, 4)},
        "1 sd, correlated .9": [values + k for k, values in enumerate(own)],
    }


def adjusted(draws: Draws, rule: str) -> Floats:
    """Holm's p of each pair on each board, (pairs, boards)."""
    p = np.array([RULES[rule](a, b) for a, b in combinations(draws, 2)])
    order = np.argsort(p, axis=0)
    stepped = np.take_along_axis(p, order, 0) * (len(p) - np.arange(len(p)))[:, None]
    found = np.empty_like(p)
    np.put_along_axis(found, order, np.maximum.accumulate(stepped, 0), 0)
    return found


def false_boundaries(draws: Draws, rule: str) -> float:
    """The share of boards that claim any difference."""
    return float((adjusted(draws, rule) <= SURE).any(0).mean())


def tied_neighbours(draws: Draws, rule: str) -> float:
    """The share of neighbours that are not told apart."""
    neighbours = [k for k, (i, j) in enumerate(combinations(range(len(draws)), 2)) if j == i + 1]
    return float((adjusted(draws, rule)[neighbours] > SURE).mean())


def main(boards: int) -> None:
    generator = np.random.default_rng(99)
    for title, made, share in (
        ("false boundaries", equal_means, false_boundaries),
        ("neighbours left tied", apart, tied_neighbours),
    ):
        print(f"{title:30} seeds  {'  '.join(f'{rule:>8}' for rule in RULES)}")
        for n in (5, 10):
            for name, draws in made(generator, boards, n).items():
                print(f"{name:30} {n:5}  {'  '.join(f'{share(draws, rule):8.3f}' for rule in RULES)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else BOARDS)
