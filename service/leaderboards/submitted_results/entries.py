"""Submitted results as entries of a board."""

from collections.abc import Mapping, Sequence

from service.leaderboards.entry import RunResult, no_skill_of
from service.leaderboards.schemas import Entry
from service.leaderboards.submitted_results.queries import estimate_of, judge_result, value_of
from service.leaderboards.submitted_results.schemas import Provenance
from service.leaderboards.submitted_results.tables import SubmittedResult


def submitted_entries(
    results: Sequence[SubmittedResult], measured: Mapping[str, Sequence[RunResult]], metric: str, budget: int
) -> list[Entry]:
    """Make entries of a board from submitted results.

    Args:
        measured: the board's runs that this service measured, by fingerprint.
        metric: name of the metric that ranks.
        budget: number of examples that a ranked training may see.
    """
    no_skill = no_skill_of(run for own in measured.values() for run in own)
    return [_entry(result, measured.get(result.fingerprint, ()), metric, budget, no_skill) for result in results]


def _entry(
    result: SubmittedResult, measured: Sequence[RunResult], metric: str, budget: int, no_skill: float | None
) -> Entry:
    value, pooled = estimate_of(result), value_of(result, no_skill)
    return Entry(
        method=result.method,
        source="submitted",
        fingerprint=result.fingerprint,
        result_id=result.id,
        state=judge_result(result, measured).verdict,
        provenance=Provenance.of(result.provenance),
        budget=result.budget,
        over_budget=result.budget > budget,
        changes=result.changes,
        n_seeds=len(result.values),
        score=pooled.score,
        value=value,
        gap=pooled.gap,
        values={metric: value},
    )
