"""Submitted results as entries of a board."""

from collections.abc import Mapping, Sequence

from service.leaderboards.pooling import RunResult
from service.leaderboards.schemas import Entry
from service.leaderboards.submitted.queries import estimate_of, judged
from service.leaderboards.submitted.schemas import Provenance
from service.leaderboards.submitted.tables import SubmittedResult


def submitted_entries(
    results: Sequence[SubmittedResult], measured: Mapping[str, Sequence[RunResult]], metric: str, budget: int
) -> list[Entry]:
    """
    Args:
        measured: of the board, by fingerprint.
        metric: that which ranks.
        budget: the board's.
    """
    return [_entry(result, measured.get(result.fingerprint, ()), metric, budget) for result in results]


def _entry(result: SubmittedResult, measured: Sequence[RunResult], metric: str, budget: int) -> Entry:
    value = estimate_of(result)
    return Entry(
        method=result.method,
        source="submitted",
        fingerprint=result.fingerprint,
        result_id=result.id,
        state=judged(result, measured).verdict,
        provenance=Provenance.of(result.provenance),
        budget=result.budget,
        over_budget=result.budget > budget,
        changes=result.changes,
        n_seeds=len(result.values),
        score=value.mean,
        value=value,
        values={metric: value},
    )
