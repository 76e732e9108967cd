"""Verdict of a comparison, as a sentence."""

from collections.abc import Mapping
from typing import Any

from normbench.display.numbers import decimal, format_count
from normbench.shown_answers import Comparison

CLAIMS = {"better": "is better than", "worse": "is worse than", "not shown": "is not shown to differ from"}


def verdict(found: Comparison, metric: str) -> str:
    """Sentence that compares the best other entry with the baseline: which is better, both values, and the p-value.

    Args:
        metric: name of the metric that ranks the entries.
    """
    [baseline] = [entry for entry in found["entries"] if entry["fingerprint"] == found["baseline"]]
    others = [entry for entry in found["entries"] if entry is not baseline]
    best = min(others, key=lambda entry: entry["rank"] or len(others) + 2)
    claim = CLAIMS.get(best["outcome"] or "", "cannot be told from")
    values = f"{metric} {_worth(best)} against {_worth(baseline)}"
    difference: Mapping[str, Any] | None = best["difference"]
    seeds = format_count(min(len(best["seeds"]), len(baseline["seeds"])), "seed")
    sure = f"p = {difference['p_holm']:.2g} ({seeds})" if difference else seeds
    return f"{best['name']} {claim} {baseline['name']}: {values}, {sure}"


def _worth(entry: Mapping[str, Any]) -> str:
    """Score of an entry: mean test value of all seeds. A seed that diverged counts as chance level."""
    lost = f" ({entry['n_diverged']} of {len(entry['seeds'])} diverged)" if entry["n_diverged"] else ""
    return f"{decimal(entry['score'])}{lost}" if entry["score"] is not None else f"–{lost}"
