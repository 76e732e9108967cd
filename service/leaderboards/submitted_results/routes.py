"""Submitted results over HTTP."""

from typing import Annotated

from fastapi import Path, Query, Response, status
from sqlalchemy.exc import IntegrityError

from normcore.spec import digest
from normcore.spec.methods import METHODS
from normcore.spec.tasks import BENCHMARKS
from service.db import Database
from service.errors import Conflict, NotFound, TooLarge
from service.experiments import parameters
from service.http.bodies import YAML_TYPES, SpecBody
from service.http.dependencies import DatabaseDep
from service.http.openapi import JSON, Document, Responses, answers, headers, reference, refusals, verbatim
from service.http.pages import Cursor, Limit, Page, page
from service.http.routing import Router, check_known
from service.leaderboards.submitted_results import examples, queries, storing
from service.leaderboards.submitted_results.reading import CheckedResult, read
from service.leaderboards.submitted_results.schemas import ResultOut, State

router = Router(prefix="/v1/results", tags=["submitted results"])

ResultId = Annotated[str, Path(description="The result's id.", examples=[examples.RESULT_ID])]
BODY = {
    "schema": {
        "type": "object",
        "required": ["task", "values", "provenance"],
        "additionalProperties": False,
        "properties": {
            **{part: reference(f"TrainingSpec/properties/{part}") for part in ("task", "model", "norm", "training")},
            **{name: reference(f"ResultOut/properties/{name}") for name in ("values", "provenance")},
        },
        "description": "Omitted parts of the spec come from the profile.",
    },
    "example": verbatim(examples.WRITTEN),
}
RESULT_BODY: Document = {"requestBody": {"required": True, "content": dict.fromkeys((JSON, *YAML_TYPES), BODY)}}
KNOWN_ALREADY = "The stored result, if the `Idempotency-Key` was used before, or if the same result is submitted again."
SUBMITTED: Responses = {
    200: {"model": ResultOut, **answers(examples.RESULT, description=KNOWN_ALREADY, headers=headers("Location"))[200]},
    **answers(examples.RESULT, status=201, description="The result, on its board.", headers=headers("Location")),
    **refusals(Conflict, TooLarge),
}


@router.post("", status_code=201, response_model=ResultOut, responses=SUBMITTED, openapi_extra=RESULT_BODY)
def submit_result(body: SpecBody, db: DatabaseDep, idempotency_key: parameters.IdempotencyKey = None) -> Response:
    """Submit a result that was measured elsewhere: a spec, the test value of each seed, and where they come from.

    Boards show it as claimed until runs of this service with three or more other seeds agree, and no statistic of
    measured entries contains it. The task's data need not be here. If the same spec, values and provenance are
    submitted again, the answer is the first result."""
    result, created = _store(db, read(body), digest(body), idempotency_key)
    return Response(
        result.model_dump_json(),
        status.HTTP_201_CREATED if created else status.HTTP_200_OK,
        {"Location": f"/v1/results/{result.id}"},
        media_type=JSON,
    )


def _store(
    db: Database, submitted: CheckedResult, request_digest: str, idempotency_key: str | None
) -> tuple[ResultOut, bool]:
    """Store the result. If two requests use one new key at the same time, the later one finds the result of the
    earlier."""

    def once() -> tuple[ResultOut, bool]:
        with db.transaction() as session:
            row, created = storing.store(
                session, submitted, request_digest=request_digest, idempotency_key=idempotency_key
            )
            return queries.result(session, row.id), created

    try:
        return once()
    except IntegrityError:
        if idempotency_key is None:
            raise
        return once()


@router.get("", responses=answers(Page(items=[examples.RESULT], next_cursor=examples.RESULT_ID)))
def list_results(
    db: DatabaseDep,
    task: parameters.TaskName = None,
    profile: parameters.Profile = None,
    method: parameters.MethodName = None,
    fingerprint: parameters.Fingerprint = None,
    state: Annotated[State | None, Query(description="The result's state.", examples=["claimed"])] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ResultOut]:
    """Submitted results, newest first."""
    check_known("task", task, BENCHMARKS)
    check_known("method", method, METHODS)
    with db.snapshot() as session:
        rows = queries.results(
            session,
            task=task,
            profile=profile,
            method=method,
            fingerprint=fingerprint,
            state=state,
            before=cursor,
            limit=limit + 1,
        )
    return page(rows, limit, lambda result: result.id)


@router.get("/{result_id}", responses=answers(examples.RESULT) | refusals(NotFound))
def get_result(result_id: ResultId, db: DatabaseDep) -> ResultOut:
    """A submitted result, and whether it agrees with the runs of this service."""
    with db.snapshot() as session:
        return queries.result(session, result_id)


@router.delete(
    "/{result_id}",
    responses=answers(examples.RESULT, description="The result, withdrawn.") | refusals(NotFound),
)
def withdraw_result(result_id: ResultId, db: DatabaseDep) -> ResultOut:
    """Withdraw a result: boards no longer show it, except boards of an earlier moment."""
    with db.transaction() as session:
        storing.withdraw(session, result_id)
        return queries.result(session, result_id)
