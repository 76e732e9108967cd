"""Store submitted results, and withdraw them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from normcore.problem import problem_of
from normcore.spec import TrainingSpec, changes, digest
from service.db import get_row, one_at_a_time, utc_now
from service.experiments import submission
from service.idempotency import find_earlier_row
from service.ids import new_id
from service.leaderboards.submitted_results.reading import CheckedResult
from service.leaderboards.submitted_results.tables import SubmittedResult


def store(
    session: Session, submitted: CheckedResult, *, request_digest: str, idempotency_key: str | None
) -> tuple[SubmittedResult, bool]:
    """Store a result.

    Returns:
        The row of the result, and whether the row is new. It is not new if the same key came with the same request
        before, or if the same result is stored already and was not withdrawn.

    Raises:
        Conflict: the key was used with another request.
    """
    known = find_earlier_row(session, SubmittedResult, idempotency_key, request_digest, "result")
    if known is not None:
        return known, False
    evidence, fingerprint = submitted.evidence.model_dump(mode="json"), submitted.spec.fingerprint()
    one_at_a_time(session, fingerprint)
    twin = _find_same(session, fingerprint, evidence)
    if twin is not None:
        return twin, False
    row = SubmittedResult(
        id=new_id("res"),
        **columns_of(submitted.spec),
        values=evidence["values"],
        provenance=evidence["provenance"],
        idempotency_key=idempotency_key,
        request_digest=request_digest,
        created_at=utc_now(),
    )
    session.add(row)
    session.flush()
    return row, True


def _find_same(session: Session, fingerprint: str, evidence: Mapping[str, Any]) -> SubmittedResult | None:
    """Find a result on a board with the same spec, values (in any order) and provenance."""
    row = SubmittedResult
    rows = session.scalars(
        select(row).where(row.fingerprint == fingerprint, row.withdrawn_at.is_(None)).order_by(row.id)
    )
    wanted = _content(evidence["values"], evidence["provenance"])
    return next((known for known in rows if _content(known.values, known.provenance) == wanted), None)


def _content(values: Sequence[Mapping[str, Any]], provenance: Mapping[str, Any]) -> str:
    return digest([sorted((one["seed"], one["value"]) for one in values), dict(provenance)])


def columns_of(spec: TrainingSpec) -> dict[str, Any]:
    """Columns of a submitted result that follow from the spec."""
    columns = submission.columns_of(spec)
    del columns["setting"]
    return {**columns, "options": dict(problem_of(spec.task).options), "changes": changes(spec)}


def withdraw(session: Session, result_id: str) -> None:
    """Take a result off its board. A result that was withdrawn before does not change.

    Raises:
        NotFound: there is no such result.
    """
    get_row(session, SubmittedResult, result_id, "result")
    own = update(SubmittedResult).where(SubmittedResult.id == result_id, SubmittedResult.withdrawn_at.is_(None))
    session.execute(own.values(withdrawn_at=utc_now()))
