"""What is said of entries beside each other, from values."""

from typing import Any

import pytest

from normcore.spec.metric import ACCURACY
from service.comparisons.schemas import ComparedEntry, Comparison, Curve, Difference, Ratio, Split
from service.leaderboards.pooling import Estimate
from service.leaderboards.schemas import Problem
from service.pages.compare import differing
from service.pages.comparing import compared, facts, verdict

EMPTY = Curve([], [], [], [], [], [])
NO_RATIO = Ratio(None, None)


def entry(name: str, mean: float, difference: tuple[float, float] | None = None, **parts: Any) -> ComparedEntry:
    """
    Args:
        difference: its mean and p.
    """
    usual: dict[str, Any] = {
        "method": name,
        "changes": {},
        "kernel": "reference",
        "hardware": "h",
        "seeds": [0, 1, 2],
        "value": Estimate(mean),
        "curve": EMPTY,
        "curve_by_seconds": EMPTY,
        "runs": [],
        "difference": Difference(difference[0], None, difference[1], [0, 1, 2]) if difference else None,
        "speedup": None,
        "survival": [],
    }
    return ComparedEntry(fingerprint=name, **{**usual, **parts})


NONE = entry("none", 0.5)


def comparison(*entries: ComparedEntry) -> Comparison:
    problem = Problem("0", "the profile's own", {}, None)
    baseline = entries[-1].fingerprint
    return Comparison("permuted_digits", "small", problem, baseline, "valid.accuracy", "", "maximize", 0.5, [*entries])


def values(shown: Comparison) -> dict[str, dict[int, float]]:
    return {
        e.fingerprint: {seed: (e.value.mean if e.value else 0) + seed / 1000 for seed in range(3)}
        for e in shown.entries
    }


def said(*entries: ComparedEntry) -> str:
    shown = comparison(*entries)
    rows = compared(shown, values(shown), ACCURACY)
    found = verdict(shown, rows, values(shown), {e.fingerprint: e.fingerprint for e in entries}, ACCURACY)
    return f"{found.claim} {found.detail}"


@pytest.mark.parametrize(
    ("entries", "begins"),
    [
        (
            [entry("a", 0.9, (0.4, 0.001)), entry("b", 0.8, (0.3, 0.001)), NONE],
            "Both beat none; a is best",
        ),
        ([entry("a", 0.9, (0.4, 0.001)), NONE], "a beats none; a is best, by 40.00 points over none"),
        ([entry("a", 0.1, (-0.4, 0.001)), NONE], "a does worse than none; none is best"),
        (
            [entry("a", 0.501, (0.001, 0.4)), NONE],
            "No difference between a and none is shown; between the",
        ),
        (
            [entry("a", 0.9), NONE],
            "a has too few seeds beside none (3 seeds each are the least that tells anything, 5 are better);",
        ),
        ([entry("a", 0.9, value=None), NONE], "a has no finite result; too few entries have a finite result"),
    ],
)
def test_every_outcome_has_its_sentence(entries: list[ComparedEntry], begins: str) -> None:
    assert said(*entries).startswith(begins), said(*entries)


def test_of_several_tests_each_must_stand_the_correction() -> None:
    shown = comparison(entry("a", 0.9, (0.4, 0.03)), entry("b", 0.9, (0.4, 0.04)), NONE)
    assert [row.outcome for row in compared(shown, values(shown), ACCURACY)] == ["not shown", "not shown"]
    alone = comparison(entry("a", 0.9, (0.4, 0.03)), NONE)
    assert [row.outcome for row in compared(alone, values(alone), ACCURACY)] == ["better"]
    assert compared(alone, values(alone), ACCURACY)[0].dots == pytest.approx([0.4] * 3)


def test_who_is_fastest_by_the_clock_and_what_its_steps_cost() -> None:
    split = Split(Ratio(3.2, None), Ratio(0.5, None), Ratio(1.6, (1.4, 1.9)), None, None, None)
    shown = comparison(entry("a", 0.9, speedup=split), NONE)
    assert facts(shown, {"a": "a", "none": "none"}) == [
        "3 shared seeds: same initial weights, same batches",
        "By the clock a is fastest: ×1.60 (95% interval 1.40 – 1.90), though each of its steps takes 2.0 times as long",
    ]
    slower = Split(Ratio(0.9, None), Ratio(0.5, None), Ratio(0.45, None), None, None, None)
    behind = comparison(entry("a", 0.9, speedup=slower), NONE)
    assert facts(behind, {"a": "a", "none": "none"})[1] == (
        "By the clock none is fastest; the next, a, ×0.45 (no interval)"
    )
    open_one = Split(Ratio(1.1, None), Ratio(1.0, None), Ratio(1.1, (0.9, 1.3)), None, None, None)
    unsure = comparison(entry("a", 0.9, speedup=open_one), NONE)
    assert facts(unsure, {"a": "a", "none": "none"})[1] == (
        "By the clock no difference is shown: a ×1.10 (95% interval 0.90 – 1.30)"
    )
    elsewhere = comparison(entry("a", 0.9, hardware="other"), entry("none", 0.5, seeds=[7]))
    assert facts(elsewhere, {}) == ["Seconds are of different hardware or kernels, and are not compared"]


def test_what_differs_is_told_by_path_and_the_rest_is_counted() -> None:
    found = differing([{"norm": {"method": "a", "eps": 1}, "x": 1}, {"norm": {"method": "b"}, "x": 1}])
    assert found.fields == {"norm.method": ["a", "b"], "norm.eps": [1, None]}
    assert found.equal == 1
