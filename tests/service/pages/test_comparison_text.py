"""Text on entries beside each other, from values."""

import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.spec.metric import ACCURACY
from service.comparisons.schemas import ComparedEntry, Comparison, Curve, Difference, Ratio, Split
from service.db import Database
from service.leaderboards.entry import Estimate
from service.leaderboards.schemas import Problem
from service.pages.comparison_page import find_differing_fields
from service.pages.comparison_text import compare_with_baseline, facts, verdict
from tests.service.comparisons.test_routes import trained

EMPTY = Curve([], [], [], [], [], [])
NO_RATIO = Ratio(None, None)


def entry(name: str, mean: float, difference: tuple[float, float] | None = None, **parts: Any) -> ComparedEntry:
    """
    Args:
        difference: its mean and Holm's p.
    """
    usual: dict[str, Any] = {
        "method": name,
        "changes": {},
        "kernel": "reference",
        "hardware": "h",
        "seeds": [0, 1, 2],
        "n_diverged": 0,
        "budget": 100,
        "over_budget": False,
        "score": mean,
        "rank": 1,
        "rank_ci": (1, 1),
        "tie_group": 1,
        "above": {},
        "outcome": "not tested",
        "value": Estimate(mean),
        "gap": False,
        "curve": EMPTY,
        "curve_by_seconds": EMPTY,
        "runs": [],
        "difference": Difference(difference[0], None, 0.0, difference[1], [0, 1, 2]) if difference else None,
        "speedup": None,
        "survival": [],
    }
    return ComparedEntry(fingerprint=name, **{**usual, **parts})


def ranked(rank: int, *above: str) -> dict[str, Any]:
    """Fields of an entry that is in a tie group by itself."""
    return {"rank": rank, "rank_ci": (rank, rank), "tie_group": rank, "above": dict.fromkeys(above, 0.004)}


NOTHING: dict[str, Any] = {"value": None, "score": None, "rank": 2, "rank_ci": None, "tie_group": None}
UNRANKED: dict[str, Any] = {"over_budget": True, "rank": None, "rank_ci": None, "tie_group": None}
NONE = entry("none", 0.5, **ranked(2))
FEW = "(3 seeds each are the least that tells anything, 5 are better)"


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
    found = verdict(shown, values(shown), {e.fingerprint: e.fingerprint for e in entries}, ACCURACY)
    return f"{found.claim} {found.detail}"


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (
            [
                entry("a", 0.9, (0.4, 0.001), outcome="better", **ranked(1, "b", "none")),
                entry("b", 0.8, (0.3, 0.001), outcome="better", **ranked(2, "none")),
                entry("none", 0.5, **ranked(3)),
            ],
            "Both beat the method none; a is best, by 10.00 points over b"
            " (95% interval 9.77 – 10.23, p\u00a0=\u00a00.004 after Holm).",
        ),
        (
            [entry("a", 0.1, (-0.4, 0.001), outcome="worse", **ranked(2)), entry("none", 0.5, **ranked(1, "a"))],
            "a does worse than the method none; the method none is best, by 40.00 points over a"
            " (95% interval 39.77 – 40.23, p\u00a0=\u00a00.004 after Holm).",
        ),
        (
            [entry("a", 0.501, (0.001, 0.4), outcome="not shown"), entry("none", 0.5, rank=2)],
            "No difference between a and the method none is shown; a has the best score, and the method none"
            " ties with it.",
        ),
        (
            [entry("a", 0.9, (0.4, 0.001), outcome="better"), entry("b", 0.8, rank=2, tie_group=2), NONE],
            f"a beats the method none; b has too few seeds beside the method none {FEW};"
            " a has the best score, and may not be first: b and none are not shown to be worse.",
        ),
        (
            [entry("a", 0.9), entry("b", 0.8, rank=2), entry("none", 0.5, **ranked(3))],
            f"a and b have too few seeds beside the method none {FEW};"
            " a has the best score, and b ties with it; the method none is not shown to be worse.",
        ),
        (
            [entry("a", 0.9, (0.4, 0.001), outcome="not shown", rank=2), entry("none", 0.5)],
            "Between a and the method none the seeds that converged differ, but the scores, in which diverged seeds"
            " count too, do not show it; the method none has the best score, and a ties with it.",
        ),
        (
            [entry("a", 0.9, **NOTHING), entry("none", 0.5)],
            "a has no finite result; too few entries have a finite result to call one the best.",
        ),
        (
            [entry("a", 0.9), entry("none", 0.5, **NOTHING)],
            "The method none has no finite result to compare a with; too few entries have a finite"
            " result to call one the best.",
        ),
        (
            [entry("a", 0.9, (0.4, 0.001), outcome="better", seeds=[0, 1], **ranked(1, "none")), NONE],
            "a beats the method none; too few entries have 3 seeds or more to call one the best.",
        ),
        (
            [
                entry("one", 0.95, seeds=[0]),
                entry("a", 0.9, (0.4, 0.001), outcome="better", **ranked(2, "none")),
                entry("none", 0.5, **ranked(3)),
            ],
            f"a beats the method none; one has too few seeds beside the method none {FEW}; of the entries with 3"
            " seeds or more a is best,"
            " by 40.00 points over the method none (95% interval 39.77 – 40.23, p\u00a0=\u00a00.004 after Holm).",
        ),
        (
            [
                entry("more", 0.99, (0.4, 0.001), outcome="better", **UNRANKED),
                entry("a", 0.9, (0.4, 0.001), outcome="better", **ranked(1, "none")),
                NONE,
            ],
            "Both beat the method none; within the budget a is best,"
            " by 40.00 points over the method none (95% interval 39.77 – 40.23, p\u00a0=\u00a00.004 after Holm).",
        ),
        (
            [entry("more", 0.99, (0.4, 0.001), outcome="better", **UNRANKED), NONE],
            "more beats the method none; too few entries within the budget have a finite result to call one the best.",
        ),
    ],
)
def test_every_outcome_has_its_sentence(entries: list[ComparedEntry], told: str) -> None:
    assert said(*entries) == told


def test_dots_are_the_differences_of_single_seeds() -> None:
    shown = comparison(entry("a", 0.9), entry("none", 0.5))
    [row] = compare_with_baseline(shown, values(shown))
    assert row.entry.fingerprint == "a"
    assert row.dots == pytest.approx([0.4] * 3)


def answered(client: TestClient, *fingerprints: str) -> str:
    """Text of the page before its figures."""
    answer = client.get("/compare", params={"fingerprint": list(fingerprints)}, headers={"Accept": "text/html"})
    assert answer.status_code == 200, answer.text
    found = re.search(r'<p class="verdict">(.*?)</(?:section|div)>', answer.text, re.DOTALL)
    assert found, answer.text
    return " ".join(unescape(re.sub("<[^>]*>", " ", found[1])).split())


def test_the_facts_count_the_diverged_seeds_of_each_entry() -> None:
    shown = comparison(
        entry("a", 0.9, n_diverged=1),
        entry("b", 0.9, **UNRANKED),
        entry("c", 0.9, **UNRANKED),
        entry("none", 0.5, n_diverged=2),
    )
    assert facts(shown, {name: name for name in ("a", "b", "c", "none")})[1:] == [
        "1 of 3 seeds of a and 2 of 3 seeds of the method none diverged; they count only in scores, as a"
        " model without skill",
        "b and c are over the board's budget, and not ranked",
    ]


def test_the_facts_name_entries_whose_seeds_did_not_all_take_off() -> None:
    shown = comparison(entry("a", 0.9, gap=True), entry("b", 0.9), entry("none", 0.5, gap=True))
    assert facts(shown, {name: name for name in ("a", "b", "none")})[1:] == [
        "Some seeds of a and none did not take off; no interval of the mean holds for such values",
    ]


def test_the_facts_name_the_fastest_entry_and_the_cost_of_its_steps() -> None:
    split = Split(Ratio(3.2, None), Ratio(0.5, None), Ratio(1.6, (1.4, 1.9)), None, None, None)
    shown = comparison(entry("a", 0.9, speedup=split), NONE)
    assert facts(shown, {"a": "a", "none": "none"}) == [
        "3 shared seeds: same initial weights, same batches",
        "By the clock a is fastest: ×1.60 (95% interval 1.40 – 1.90), though each of its steps takes 2.0 times as long",
    ]
    slower = Split(Ratio(0.9, None), Ratio(0.5, None), Ratio(0.45, None), None, None, None)
    behind = comparison(entry("a", 0.9, speedup=slower), NONE)
    assert facts(behind, {"a": "a", "none": "none"})[1] == (
        "By the clock the method none is fastest; the next, a, ×0.45 (no interval)"
    )
    open_one = Split(Ratio(1.1, None), Ratio(1.0, None), Ratio(1.1, (0.9, 1.3)), None, None, None)
    unsure = comparison(entry("a", 0.9, speedup=open_one), NONE)
    assert facts(unsure, {"a": "a", "none": "none"})[1] == (
        "By the clock no difference is shown: a ×1.10 (95% interval 0.90 – 1.30)"
    )
    elsewhere = comparison(entry("a", 0.9, hardware="other"), entry("none", 0.5, seeds=[7]))
    assert facts(elsewhere, {}) == ["Seconds were measured on different hardware or kernels, and are not compared"]


def test_differing_fields_are_listed_by_path_and_equal_fields_counted() -> None:
    found = find_differing_fields([{"norm": {"method": "a", "eps": 1}, "x": 1}, {"norm": {"method": "b"}, "x": 1}])
    assert found.fields == {"norm.method": ["a", "b"], "norm.eps": [1, None]}
    assert found.equal == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_page_names_another_problem_once_and_other_settings_everywhere(client: TestClient, db: Database) -> None:
    task = {"name": "permuted_digits", "profile": "smoke", "permutation_seed": 7}
    none = trained(db, "none", [0.70, 0.72, 0.71], [20] * 3, task=task)
    norm = trained(db, "layer_norm", [0.90, 0.91, 0.92], [10] * 3, task=task, training={"optimizer": {"lr": 0.004}})
    page = client.get("/compare", params={"fingerprint": [none, norm]}, headers={"Accept": "text/html"}).text
    page = page.replace("<wbr>", "")
    assert page.count("permutation_seed 7") == 1
    assert "layer_norm (lr 0.004) beats the method none" in answered(client, none, norm)
    assert not re.search(r">\s*layer_norm\s*<", page.partition("What differs")[0]), "nowhere by the bare name"
