"""False claims of boards whose seeds have a skewed distribution, under our rule and other rules.

`python -m benchmarks.skewed_seeds [BOARDS]` prints two tables of simulated boards. In the first, all true means are
equal; it has the share of boards that claim a difference. In the second, all means differ; it has the share of
neighbours that stay tied. Rules: `paired` is Student's t of differences seed by seed, `unshared` is Welch's t, and
`both` needs both tests. `97%` is the paired t at 3% instead of 5%. `skewness` needs the paired t and Hall's
transformation of it.
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
Draws = Sequence[Floats]  # one array (boards, seeds) for each entry


def paired(a: Floats, b: Floats) -> Floats:
    d, n = a - b, a.shape[1]
    return _two_sided(d.mean(1) / (d.std(1, ddof=1) / n**0.5), n - 1)


def unshared(a: Floats, b: Floats) -> Floats:
    n = a.shape[1]
    of_a, of_b = a.var(1, ddof=1) / n, b.var(1, ddof=1) / n
    freedom = (of_a + of_b) ** 2 * (n - 1) / (of_a**2 + of_b**2)
    return _two_sided((a.mean(1) - b.mean(1)) / np.sqrt(of_a + of_b), freedom)


def skewness(a: Floats, b: Floats) -> Floats:
    """p by Hall 1992, at least the paired p: g(t) = t + k t^2 / 3 + k^2 t^3 / 27 + k / (6 n).

    k is the skewness of the differences a - b, and n the number of seeds.
    """
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
    """Draw boards of four or eight entries. All true means are 0."""

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
    """Draw boards of four entries. Each entry is better than the one before by 2 or 4 standard deviations.

    Entries of the board ``correlated`` share 0.9 of their variance over seeds, and differ by 1 standard deviation.
    """
    common = 0.9**0.5 * generator.normal(size=(boards, n))
    own = [common + 0.1**0.5 * generator.normal(size=(boards, n)) for _ in range(ENTRIES)]
    return {
        **{f"{gap} sd": [generator.normal(size=(boards, n)) + gap * k for k in range(ENTRIES)] for gap in (2, 4)},
        "1 sd, correlated .9": [values + k for k, values in enumerate(own)],
    }


def adjusted(draws: Draws, rule: str) -> Floats:
    """Holm-adjusted p-values of each pair on each board: (pairs, boards)."""
    p = np.array([RULES[rule](a, b) for a, b in combinations(draws, 2)])
    order = np.argsort(p, axis=0)
    stepped = np.take_along_axis(p, order, 0) * (len(p) - np.arange(len(p)))[:, None]
    found = np.empty_like(p)
    np.put_along_axis(found, order, np.maximum.accumulate(stepped, 0), 0)
    return found


def false_boundaries(draws: Draws, rule: str) -> float:
    """Share of boards that claim a difference between any two entries."""
    return float((adjusted(draws, rule) <= SURE).any(0).mean())


def tied_neighbours(draws: Draws, rule: str) -> float:
    """Share of neighbouring entries that are not shown to differ."""
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
