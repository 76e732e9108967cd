"""Example of a comparison for the API's description: two entries of one seed each."""

from normcore.problem import own_budget
from service.comparisons import figures
from service.comparisons.schemas import (
    ComparedEntry,
    ComparedRun,
    Comparison,
    Curve,
    Difference,
    Fraction,
    Ratio,
    Split,
)
from service.experiments.examples import FINGERPRINT, RUN_ID
from service.leaderboards.entry import Estimate
from service.leaderboards.examples import PROBLEM

OTHER = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184"
POINTS = [(100, 0.55, 5.7), (200, 0.71, 10.9)]
CURVE = Curve([100, 200], [5.7, 10.9], [0.55, 0.71], [None, None], [None, None], [1, 1])


def _entry(fingerprint: str, method: str, difference: Difference | None, speedup: Split | None) -> ComparedEntry:
    rank = 1 if difference else 2
    return ComparedEntry(
        fingerprint=fingerprint,
        method=method,
        changes={},
        kernel="fused",
        hardware="AMD EPYC, 1 thread",
        seeds=[0],
        n_diverged=0,
        budget=own_budget("permuted_digits", "small"),
        over_budget=False,
        score=0.677,
        rank=rank,
        rank_ci=(rank, rank),
        tie_group=rank,
        above={OTHER: 0.03} if difference else {},
        outcome="better" if difference else None,
        value=Estimate(0.677, n=1),
        gap=False,
        curve=CURVE,
        curve_by_seconds=CURVE,
        runs=[ComparedRun(RUN_ID, 0, POINTS)],
        difference=difference,
        speedup=speedup,
        survival=[(0.0, 1.0, 0.025, 1.0), (91.4, 0.0, 0.0, 0.975)],
    )


COMPARISON = Comparison(
    task="permuted_digits",
    profile="small",
    problem=PROBLEM,
    baseline=OTHER,
    series="valid.accuracy",
    unit="",
    direction="maximize",
    target=0.5,
    entries=[
        _entry(
            FINGERPRINT,
            "layer_norm",
            Difference(0.021, (0.004, 0.038), 0.03, 0.03, [0, 1, 2]),
            Split(
                Ratio(1.8, (1.2, 2.7)),
                Ratio(0.9, (0.8, 1.0)),
                Ratio(1.62, (1.1, 2.4)),
                None,
                Fraction(0.62, (0.4, 0.96), 3, None),
                Fraction(0.93, (0.8, 1.08), 3, None),
            ),
        ),
        _entry(OTHER, "none", None, None),
    ],
)
FIGURE = figures.of_comparison(COMPARISON, "differences", "steps", "light")
