"""A comparison's verdict in a sentence."""

from typing import Any

import pytest

from normbench.display.verdict import verdict


def entry(method: str, score: float | None, rank: int | None, outcome: str | None = None, **fields: Any) -> Any:
    own = {
        "fingerprint": method * 4,
        "method": method,
        "name": method,
        "score": score,
        "rank": rank,
        "outcome": outcome,
    }
    return {**own, "seeds": [0, 1, 2, 3, 4], "n_diverged": 0, "difference": None, **fields}


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (
            [
                entry("none", 0.75, 3),
                entry("ln", 0.8, 2, "not shown", difference={"p_holm": 0.07}),
                entry("rbn", 0.826, 1, "better", difference={"p_holm": 0.0025}),
            ],
            "rbn is better than none: accuracy 0.826 against 0.750, p = 0.0025 (5 seeds)",
        ),
        (
            [entry("ln", 0.5, 2, "worse", difference={"p_holm": 0.01}), entry("none", 0.75, 1)],
            "ln is worse than none: accuracy 0.500 against 0.750, p = 0.01 (5 seeds)",
        ),
        (
            [entry("ln", 0.76, 1, "not shown", difference={"p_holm": 0.9}, seeds=[0, 1]), entry("none", 0.75, 1)],
            "ln is not shown to differ from none: accuracy 0.760 against 0.750, p = 0.9 (2 seeds)",
        ),
        (
            [entry("ln", 0.1, None, "not shown", n_diverged=5), entry("none", 0.75, 1)],
            "ln is not shown to differ from none: accuracy 0.100 (5 of 5 diverged) against 0.750, 5 seeds",
        ),
    ],
)
def test_the_best_entry_is_compared_with_the_baseline(entries: list[Any], told: str) -> None:
    found: Any = {"baseline": "none" * 4, "entries": entries}
    assert verdict(found, "accuracy") == told
