"""Sweeps over HTTP."""

from typing import Annotated

from fastapi import Path, Request, Response, status
from pydantic import AfterValidator
from starlette.concurrency import run_in_threadpool

from normcore.spec.messages import quote_value
from service.errors import Conflict, NotFound, TooLarge
from service.experiments.examples import FIGURE, SWEEP_ID
from service.experiments.parameters import DryRun, FigureTheme, IdempotencyKey
from service.experiments.schemas import FigureOut
from service.http.bodies import YAML_TYPES, SpecBody
from service.http.dependencies import AppParts, AppPartsDep, DatabaseDep
from service.http.figures import WantedFigureForm, also_printed, figure_answer
from service.http.openapi import JSON, Document, Responses, answers, headers, inline_schema, refusals, verbatim
from service.http.pages import Cursor, Limit, Page, next_page, page
from service.http.readers import in_slow_reader
from service.http.routing import Router, check_found
from service.http.tables import WantedFormat, WantedPaperFormat, also_as_file, as_file, json_answer
from service.sweeps import api, examples, figures, queries, schemas
from service.sweeps.columns import FILE_EXAMPLE, FILE_ROW, SWEEPS_EXAMPLE, SWEEPS_ROW, sweep_table, sweeps_table
from service.sweeps.spec import WrittenSweep
from service.sweeps.submission import StoredSweep

router = Router(prefix="/v1/sweeps", tags=["sweeps"])
WRITTEN = {
    "schema": inline_schema(WrittenSweep),
    "examples": {"grid": {"value": examples.WRITTEN}, "random": {"value": examples.RANDOM}},
}
BODY: Document = {"requestBody": {"required": True, "content": dict.fromkeys((JSON, *YAML_TYPES), WRITTEN)}}
SUBMITTED: Responses = {
    200: {
        "model": schemas.Sweep | schemas.SweepPlan,
        "description": "With `dry_run`: the plan. With an `Idempotency-Key` that was used before: the earlier sweep.",
        "content": {
            JSON: {
                "examples": {
                    "plan": {"value": verbatim(examples.PLAN)},
                    "sweep": {"value": verbatim(examples.SWEEP)},
                }
            }
        },
        "headers": headers("Location", required=False),
    },
    **answers(
        examples.SWEEP, status=201, description="The sweep, its experiments queued.", headers=headers("Location")
    ),
    **refusals(Conflict, TooLarge),
}
AS_IT_IS_NOW = answers(examples.SWEEP, status=202, description="The sweep as it is now.")


def _sweeps_id(sweep_id: str) -> str:
    if sweep_id.startswith("exp_"):
        raise NotFound(f"no sweep {quote_value(sweep_id)}; this is an experiment's id, see /v1/experiments/{sweep_id}")
    return sweep_id


SweepId = Annotated[str, AfterValidator(_sweeps_id), Path(description="The sweep's id.", examples=[SWEEP_ID])]


@router.post("", status_code=201, response_model=schemas.Sweep, responses=SUBMITTED, openapi_extra=BODY)
async def submit_sweep(
    body: SpecBody, parts: AppPartsDep, dry_run: DryRun = False, idempotency_key: IdempotencyKey = None
) -> Response:
    """Submit a sweep: a spec, and values for some of its fields. Every combination of the grid's values with every draw
    is an experiment. All experiments are stored, or none."""
    if dry_run:
        return Response(schemas.PLAN.dump_json(await api.plan(parts, body)), media_type=JSON)
    return await _answer(parts, await api.submit(parts, body, idempotency_key))


async def _answer(parts: AppParts, submitted: StoredSweep) -> Response:
    return Response(
        await run_in_threadpool(_dump_sweep, parts, submitted.sweep_id),
        status.HTTP_201_CREATED if submitted.is_new else status.HTTP_200_OK,
        {"Location": f"/v1/sweeps/{submitted.sweep_id}"},
        media_type=JSON,
    )


@router.get(
    "",
    response_model=Page[schemas.SweepSummary],
    responses=also_as_file(answers(Page(items=[examples.SUMMARY], next_cursor=SWEEP_ID)), SWEEPS_ROW, SWEEPS_EXAMPLE),
)
def list_sweeps(
    request: Request, db: DatabaseDep, format: WantedFormat, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Sweeps, newest first."""
    with db.snapshot() as session:
        rows = queries.sweeps(session, before=cursor, limit=limit + 1)
    shown = page(rows, limit, lambda sweep: sweep.id)
    if format == "json":
        return json_answer(shown.model_dump_json())
    return as_file(sweeps_table(shown.items), format, next_page(request, shown))


@router.get(
    "/{sweep_id}",
    response_model=schemas.Sweep,
    responses=also_as_file(answers(examples.SWEEP), FILE_ROW, FILE_EXAMPLE, paper=True) | refusals(NotFound),
)
def get_sweep(request: Request, sweep_id: SweepId, parts: AppPartsDep, format: WantedPaperFormat) -> Response:
    """A sweep: progress, cells with their entries, the best cell, and how good a search of fewer cells would be."""
    with parts.db.snapshot() as session:
        sweep = queries.sweep(session, parts.answer_cache, sweep_id)
    if format == "json":
        return json_answer(schemas.SWEEP.dump_json(sweep))
    return as_file(sweep_table(sweep), format, address=request.url)


@router.get(
    "/{sweep_id}/importance",
    response_model=schemas.Importance,
    responses=answers(examples.IMPORTANCE) | refusals(NotFound),
)
async def get_importance(sweep_id: SweepId, parts: AppPartsDep) -> Response:
    """Importance of each field of a sweep, by a random forest. It describes these cells, and proves nothing."""
    found = await in_slow_reader(importance_of, parts, sweep_id)
    return json_answer(schemas.IMPORTANCE.dump_json(found))


def importance_of(parts: AppParts, sweep_id: str) -> schemas.Importance:
    """Importance of the fields of a sweep. Call it in a reader's thread, because the forest takes up to seconds."""
    with parts.db.snapshot() as session:
        return queries.importance(session, parts.answer_cache, sweep_id)


@router.get(
    "/{sweep_id}/figures/{name}", response_model=FigureOut, responses=also_printed(answers(FIGURE)) | refusals(NotFound)
)
def get_figure(
    sweep_id: SweepId,
    name: Annotated[str, Path(description="`budget` or `parallel`.", examples=["budget"])],
    parts: AppPartsDep,
    form: WantedFigureForm,
    theme: FigureTheme = "light",
) -> Response:
    """A figure of a sweep as Plotly JSON, as the pages draw it: the expected value of the best of k cells, or
    the cells as lines over an axis for each field."""
    check_found("figure of a sweep", name, figures.NAMES)
    with parts.db.snapshot() as session:
        found = queries.sweep(session, parts.answer_cache, sweep_id)
    return figure_answer(figures.draw(found, name, form.theme(theme)), form, f"{sweep_id}-{name}")


@router.post(
    "/{sweep_id}/cancel",
    status_code=202,
    response_model=schemas.Sweep,
    responses=AS_IT_IS_NOW | refusals(NotFound),
)
def cancel_sweep(sweep_id: SweepId, parts: AppPartsDep) -> Response:
    """Cancel a sweep: queued runs stop at once, running ones within seconds. Runs that have ended do not change."""
    with parts.db.transaction() as session:
        api.cancel(session, sweep_id)
    return Response(_dump_sweep(parts, sweep_id), status.HTTP_202_ACCEPTED, media_type=JSON)


@router.post(
    "/{sweep_id}/retry",
    status_code=202,
    response_model=schemas.Sweep,
    responses=AS_IT_IS_NOW | refusals(NotFound),
)
def retry_sweep(sweep_id: SweepId, parts: AppPartsDep) -> Response:
    """Open a new attempt of each failed and cancelled run; it resumes from the last checkpoint, if there is one."""
    with parts.db.transaction() as session:
        notifications = api.retry(session, sweep_id)
    parts.notifier.notify(notifications)
    return Response(_dump_sweep(parts, sweep_id), status.HTTP_202_ACCEPTED, media_type=JSON)


def _dump_sweep(parts: AppParts, sweep_id: str) -> bytes:
    with parts.db.snapshot() as session:
        return schemas.SWEEP.dump_json(queries.sweep(session, parts.answer_cache, sweep_id))
